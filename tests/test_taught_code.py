"""What a notebook teaches and what the helpers hold compute the same."""

import itertools

import pytest
import torch

from helpers import generation, language, models, precision, recurrent, sequences, timing
from helpers.batching import Buckets, Collate, lengths_to_mask
from notebooks import NOTEBOOKS, cells


def taught(number, beginning):
    """Run the cell of a notebook that begins with `beginning` and return its names."""
    (path,) = [path for path in NOTEBOOKS if path.name.startswith(number)]
    (source,) = [cell.source for cell in cells(path) if cell.source.startswith(beginning)]
    definition = source.split("\n\n\n")[0]  # without the cell's own try of it
    space = {"torch": torch, "nn": torch.nn, "pairwise": itertools.pairwise}
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


def test_the_buckets_of_notebook_04_are_ours():
    theirs = taught("04", "class Buckets")["Buckets"]
    lengths = [3, 9, 3, 5, 5, 5, 9, 3, 4, 3]
    for batch_size in (1, 3, 5, 10, 20):
        epochs = []
        for buckets in (theirs(lengths, batch_size), Buckets(lengths, batch_size)):
            torch.manual_seed(0)
            epochs.append((len(buckets), list(buckets), list(buckets)))
        assert epochs[0] == epochs[1]
    with pytest.raises(ValueError, match="batch_size must be 1 or more, not 0"):
        theirs(lengths, 0)


def test_a_state_cut_in_notebook_06_is_a_state_detached():
    cut_history = taught("06", "def cut_history(")["cut_history"]
    assert cut_history(None) is language.detach(None) is None
    state = torch.zeros(1, 2, 3, requires_grad=True) * 2
    for whole in (state, (state, state + 1)):
        ours, theirs = cut_history(whole), language.detach(whole)
        assert type(ours) is type(theirs) is type(whole)
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b)
            assert not a.requires_grad
            assert not b.requires_grad


def test_the_perplexity_of_a_log_is_that_of_all_its_words():
    perplexity_of = solution("6.1")["perplexity_of"]
    log = [(2.0, 90), (float("nan"), 0), (6.0, 10)]
    assert perplexity_of(log) == pytest.approx(language.perplexity(total_nll=240.0, tokens=100))


@pytest.mark.parametrize("softmax", ["full", "adaptive"])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_replies_of_notebook_06_are_the_helpers_replies(cell, softmax):
    slow_reply = taught("06", "def slow_reply(")["slow_reply"]
    fast_reply = taught("06", "@torch.inference_mode()")["fast_reply"]
    torch.manual_seed(0)
    model = language.WordModel(60, cell=cell, softmax=softmax, hidden_size=16).eval()
    for parameter in model.parameters():
        parameter.data.mul_(3)  # so that words are told apart
    for prompt in torch.randint(2, 60, (5, 4)):
        said = generation.reply(model, prompt, 8)
        assert len(said) == 8
        assert said == generation.reply_from_prefix(model, prompt, 8)
        assert said == slow_reply(model, prompt, 8) == fast_reply(model, prompt, 8)


def test_a_step_of_notebook_06_is_the_helpers_step():
    space = taught("06", "def train_on_stream(")  # finds its globals where it was run
    space.update(device="cpu", cut_history=taught("06", "def cut_history(")["cut_history"])
    batches = sequences.stream_batches(torch.arange(40) % 11, 2, 5)
    ours, theirs = (language.WordModel(11, cell="gru", hidden_size=8) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.5) for model in (ours, theirs)]
    state, _ = space["train_on_stream"](ours, optimizers[0], batches)
    their_state = None
    for batch in batches:
        hidden, their_state = theirs(batch.tokens, language.detach(their_state))
        optimizers[1].zero_grad()
        precision.optimizer_step(theirs.loss(hidden, batch.targets), optimizers[1], theirs.parameters())
    torch.testing.assert_close(state, their_state)


def test_the_backward_pass_written_in_notebook_05_is_the_helpers():
    theirs = taught("05", "class TanhOverTime")["TanhOverTime"]
    values = [torch.randn(shape, requires_grad=True) for shape in ((5, 2, 4), (2, 3), (3, 4), (3,), (3, 3))]
    ours, other = recurrent.TanhOverTime.apply(*values), theirs.apply(*values)
    assert torch.equal(ours, other)
    for a, b in zip(*(torch.autograd.grad(out.square().sum(), values) for out in (ours, other)), strict=True):
        torch.testing.assert_close(a, b)


def test_the_loops_of_notebook_05_are_the_helpers():
    (cell,) = [cell.source for cell in cells(NOTEBOOKS[5]) if "def by_index" in cell.source]
    x = torch.randn(2, 4, 100)
    space = {"torch": torch, "nn": torch.nn, "device": "cpu", "x": x}
    exec(cell, space)  # noqa: S102
    for name in ("by_index", "by_addmm"):
        torch.testing.assert_close(space[name](x), getattr(recurrent, name)(space["rnn"], x))
