"""Words out of a word model: sampling, and replies computed in two ways that say the same."""

import torch
from torch import Tensor

from helpers.language import WordModel


def sample(scores: Tensor, temperature: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
    """Draw a word from each row of `scores` [n, vocabulary_size] (logits or log-probabilities); return [n].

    Temperature 0 takes the most probable word; below 1 sharpens, above 1 flattens. Raises ValueError for a negative
    temperature, and where no word is left to draw from (all -inf).
    """
    if not temperature >= 0:
        raise ValueError(f"temperature must be 0 or more, not {temperature}")
    best = scores.max(dim=1).values
    if not best.isfinite().all():
        raise ValueError("no word to draw from: some row of scores is all -inf, or holds inf or nan")
    if temperature == 0:
        return scores.argmax(1)
    scaled = (scores - best.unsqueeze(1)).double() / temperature  # at most 0, so that nothing overflows
    return torch.multinomial(scaled.softmax(1), 1, generator=generator).squeeze(1)


def reply_from_prefix(model: WordModel, prompt: Tensor, words: int) -> list[int]:
    """Return the `words` most probable next words after `prompt` [time], running the whole prefix again for each.

    That is how the loop reads when it is written down first: scores at every step, of which one is used,
    and a graph for gradients that nobody asks for.
    """
    said = prompt
    for _ in range(words):
        hidden, _ = model(said.unsqueeze(0))  # [1, time, hidden_size]
        scores = model.log_probabilities(hidden[0])  # [time, vocabulary_size]
        said = torch.cat((said, scores[-1:].argmax(1)))
    return said[len(prompt) :].tolist()


@torch.inference_mode()
def reply(
    model: WordModel,
    prompt: Tensor,
    words: int,
    *,
    temperature: float = 0.0,
    end: int | None = None,
    generator: torch.Generator | None = None,
) -> list[int]:
    """Return up to `words` next words after `prompt` [time]; ends early after the word `end`.

    The state is carried, so that each word costs one step; scores are computed for the last step alone.
    """
    said: list[int] = []
    hidden, state = model(prompt.unsqueeze(0))
    for _ in range(words):
        last = hidden[:, -1]  # [1, hidden_size]
        if temperature == 0:
            word = model.predict(last)
        else:
            word = sample(model.log_probabilities(last), temperature, generator)
        said.append(int(word))
        if said[-1] == end:
            break
        hidden, state = model(word.unsqueeze(0), state)
    return said
