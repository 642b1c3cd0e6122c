"""What a notebook teaches and what the helpers hold compute the same."""

import torch

from helpers import models, timing
from helpers.batching import Collate, lengths_to_mask
from notebooks import NOTEBOOKS, cells


def taught(number, beginning):
    """Run the cell of a notebook that begins with `beginning` and return its names."""
    (path,) = [path for path in NOTEBOOKS if path.name.startswith(number)]
    (source,) = [cell.source for cell in cells(path) if cell.source.startswith(beginning)]
    definition = source.split("\n\n\n")[0]  # without the cell's own try of it
    space = {"torch": torch, "nn": torch.nn}
    exec(definition, space)  # noqa: S102
    return space


def solution(name):
    from notebooks import exercises

    for path in NOTEBOOKS:
        for exercise in exercises(path):
            if exercise.name == name:
                space = {"torch": torch, "nn": torch.nn}
                exec(exercise.solution, space)  # noqa: S102
                return space
    raise KeyError(name)


def test_the_article_s_network():
    theirs = taught("03", "class SimpleRNN")["SimpleRNN"](3, 4, 2)
    ours = models.SimpleRNN(3, 4, 2)
    ours.load_state_dict(theirs.state_dict())
    x, hidden = torch.randn(5, 6, 3), ours.init_hidden(5)
    for a, b in zip(theirs(x, theirs.init_hidden(5)), ours(x, hidden), strict=True):
        assert torch.equal(a, b)


def test_the_loop_of_notebook_01_is_nn_rnn():
    unroll = taught("01", "def unroll(")["unroll"]
    rnn = torch.nn.RNN(3, 4, bias=False, batch_first=True)
    x = torch.randn(2, 5, 3)
    state = unroll(x, rnn.weight_ih_l0.T, rnn.weight_hh_l0.T)
    torch.testing.assert_close(state, rnn(x)[1][0])


def test_the_last_real_step_is_the_state_after_the_text():
    last_real = solution("3.1")["last_real"]
    torch.manual_seed(0)
    model = models.TextClassifier(10, 2, cell="rnn", bidirectional=False, pooling="last", hidden_size=8).eval()
    batch = Collate()([([3, 4, 5], 0), ([6], 1), ([7, 8], 0)])
    out, _ = model.rnn(model.embedding(batch.tokens))
    torch.testing.assert_close(last_real(out, batch.lengths), model.features(batch.tokens, batch.lengths))


def test_the_mean_of_real_tokens_uses_the_same_mask():
    mean_of_real = solution("3.2")["mean_of_real"]
    out, lengths = torch.randn(3, 5, 2), torch.tensor([5, 1, 3])
    mask = lengths_to_mask(lengths, 5).unsqueeze(2)
    torch.testing.assert_close(mean_of_real(out, lengths), (out * mask).sum(1) / mask.sum(1))


def test_break_even_counts_the_same_steps():
    steps = solution("0.2")["steps_to_break_even"]
    compiled = timing.Measurement(0.004, 0, 84.0, 0, 1, 1, 1, "cpu", (0.004,))
    eager = timing.Measurement(0.008, 0, 0.0, 0, 1, 1, 1, "cpu", (0.008,))
    assert timing.break_even(compiled, eager) == 1 + steps(84.0, 0.004)  # the first call is a call, too
