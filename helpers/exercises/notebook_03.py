"""Checks of the exercises in 03 · A simple RNN classifier."""

import math

import torch


def _padded():
    """A padded batch with rubbish in its padding, as a layer that ran on would leave it; and the lengths."""
    torch.manual_seed(0)
    return torch.randn(4, 6, 3), torch.tensor([2, 6, 1, 4])


def _last_real(last_real):
    out, lengths = _padded()
    got = last_real(out, lengths)
    want = torch.stack([row[length - 1] for row, length in zip(out, lengths, strict=True)])
    assert got.shape == want.shape, (
        f"the shape should be [batch, hidden_size] = {tuple(want.shape)}, it is {tuple(got.shape)}"
    )
    assert not torch.equal(got, out[:, -1]), (
        "that is the last step of the rectangle, and padding for three of four texts"
    )
    assert torch.equal(got, want), "a wrong step for some text: steps count from 0, the last is length - 1"
    return "Each text is read at its own end."


def _mean_of_real(mean_of_real):
    out, lengths = _padded()
    got = mean_of_real(out, lengths)
    want = torch.stack([row[:length].mean(0) for row, length in zip(out, lengths, strict=True)])
    assert got.shape == want.shape, (
        f"the shape should be [batch, hidden_size] = {tuple(want.shape)}, it is {tuple(got.shape)}"
    )
    assert not torch.allclose(got, out.mean(1)), "padding is in that mean: mask it"
    assert not torch.allclose(got * lengths.unsqueeze(1), want * lengths.unsqueeze(1) ** 2 / 6), (
        "divide by the lengths, not by the time"
    )
    assert torch.allclose(got, want, atol=1e-6), "the mean of each text's real steps is another"
    return "Padding has no part in it."


def _lowest_loss(lowest_loss):
    value = float(lowest_loss)
    assert value != 0, "zero is what logits could reach; probabilities cannot grow beyond 1"
    assert not math.isclose(value, math.log(1 + 3 / math.e), abs_tol=2e-3), (
        "that is right for four classes; here are two"
    )
    assert not math.isclose(value, math.log(2), abs_tol=2e-3), "that is what guessing gives; the best answer is (1, 0)"
    assert math.isclose(value, math.log(1 + 1 / math.e), abs_tol=1e-3), (
        f"{value:.4f} is not it (three decimals count): take the softmax of (1, 0)"
    )
    return "ln(1 + 1/e): now you will recognise it."


CHECKS = {"3.1": _last_real, "3.2": _mean_of_real, "3.3": _lowest_loss}
