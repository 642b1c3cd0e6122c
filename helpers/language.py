"""Word models: one recurrent layer between an embedding and a softmax over the vocabulary, and their perplexity."""

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from helpers.batching import IGNORED, WordBatch
from helpers.device import to_device
from helpers.recurrent import FastRNN

State = Tensor | tuple[Tensor, Tensor]  # of nn.RNN and nn.GRU, or of nn.LSTM


class WordModel(nn.Module):
    """Predict each next word. The softmax is full (a score for every word) or adaptive (rare words in clusters).

    The adaptive one wants a vocabulary with the most frequent words first, as `Vocabulary.build` makes it
    (Grave et al. 2017, arXiv:1609.04309).
    """

    def __init__(
        self,
        vocabulary_size: int,
        *,
        cell: Literal["rnn", "fast rnn", "gru", "lstm"] = "rnn",
        softmax: Literal["full", "adaptive"] = "full",
        embedding_size: int = 100,
        hidden_size: int = 256,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_size)
        if cell == "fast rnn":
            self.rnn = FastRNN(embedding_size, hidden_size)
        else:
            layer = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell]
            self.rnn = layer(embedding_size, hidden_size, batch_first=True)
        if softmax == "adaptive":
            cutoffs = [vocabulary_size // 14 + 1, vocabulary_size // 3 + 2]  # the head holds the most frequent 7 %
            self.output = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocabulary_size, cutoffs, div_value=4.0)
        else:
            self.output = nn.Linear(hidden_size, vocabulary_size)

    def forward(self, tokens: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """`tokens` [batch, time] -> what the layer says at each step [batch, time, hidden_size], and its new state."""
        return self.rnn(self.embedding(tokens), state)

    def loss(self, hidden: Tensor, targets: Tensor, *, everywhere: bool = False) -> Tensor:
        """Return the mean negative log-likelihood, in nats, of the targets [batch, time] that are not IGNORED.

        With `everywhere` a full softmax computes the scores at every step and then throws those without a target
        away, as most listings do; without it they are never computed. The value is the same.
        """
        hidden, targets = hidden.flatten(0, 1), targets.flatten()
        if not everywhere:
            real = targets != IGNORED
            hidden, targets = hidden[real], targets[real]
        return self.output_loss(hidden, targets)

    def output_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of the output layer for `hidden` [n, hidden_size] and `targets` [n]."""
        if isinstance(self.output, nn.AdaptiveLogSoftmaxWithLoss):
            return self.output(hidden, targets).loss
        return nn.functional.cross_entropy(self.output(hidden), targets, ignore_index=IGNORED)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """`hidden` [n, hidden_size] -> [n, vocabulary_size]."""
        if isinstance(self.output, nn.AdaptiveLogSoftmaxWithLoss):
            return self.output.log_prob(hidden)
        return self.output(hidden).log_softmax(1)

    def predict(self, hidden: Tensor) -> Tensor:
        """`hidden` [n, hidden_size] -> the most probable words [n]; an adaptive softmax seldom opens its clusters."""
        if isinstance(self.output, nn.AdaptiveLogSoftmaxWithLoss):
            return self.output.predict(hidden)
        return self.output(hidden).argmax(1)


def detach(state: State | None) -> State | None:
    """Cut a state, or a pair of them, from the graph behind it, so that `backward` ends there."""
    if state is None:
        return None
    return state.detach() if isinstance(state, Tensor) else tuple(part.detach() for part in state)


def perplexity(total_nll: float, tokens: int) -> float:
    """Return exp(total_nll / tokens): the loss of all tokens together, and not a mean over batches or sentences.

    `total_nll` is a sum of negative log-likelihoods in nats. Raises ValueError where there are no tokens.
    """
    if tokens < 1:
        raise ValueError("a perplexity needs at least one token with a target")
    return math.exp(total_nll / tokens)


def evaluate_words(
    model: WordModel, batches: Iterable[WordBatch], device: torch.device | str = "cpu", *, carry: bool = False
) -> float:
    """Return the perplexity over all targets. With `carry` the state goes from batch to batch, as in a stream."""
    training = model.training
    model.eval()
    total, tokens, state = 0.0, 0, None
    try:
        with torch.inference_mode():
            for batch in batches:
                count = int((batch.targets != IGNORED).sum())
                if not count:
                    continue
                batch = to_device(batch, device)
                hidden, new_state = model(batch.tokens, state)
                state = new_state if carry else None
                total += model.loss(hidden, batch.targets).item() * count
                tokens += count
    finally:
        model.train(training)
    return perplexity(total, tokens)
