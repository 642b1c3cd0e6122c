"""Checks of the exercises in 01 · Dynamic graphs."""

import math

import torch


def _states(unroll_from):
    torch.manual_seed(0)
    rnn = torch.nn.RNN(3, 4, bias=False, batch_first=True)
    h, x = torch.randn(2, 4), torch.randn(2, 5, 3)
    weights = rnn.weight_ih_l0.T.detach(), rnn.weight_hh_l0.T.detach()
    want = rnn(x, h.unsqueeze(0))[0].detach()
    got = unroll_from(h, x, *weights)
    assert isinstance(got, torch.Tensor), f"return one tensor, not a {type(got).__name__}: stack the states"
    assert got.shape != want[:, -1].shape, "that is one state only: return the state of every step"
    if got.shape == want.transpose(0, 1).shape:
        raise AssertionError("the time axis comes first; it should be the second: torch.stack(..., dim=1)")
    assert got.shape == want.shape, f"the shape should be {tuple(want.shape)}, it is {tuple(got.shape)}"
    zero = unroll_from(torch.zeros_like(h), x, *weights)
    assert not torch.allclose(got, zero), "the given state makes no difference: start from h, not from zero"
    assert torch.allclose(got, want, atol=1e-5), "the states differ from nn.RNN's: h = tanh(x_t @ W + h @ U)"
    return "nn.RNN gives the same states."


def _detach(detach):
    torch.manual_seed(0)
    tensor = torch.randn(1, 2, 3, requires_grad=True) * 2
    for state in (tensor, (tensor, tensor + 1)):
        kind = type(state).__name__
        got = detach(state)
        assert type(got) is type(state), f"a {kind} came in and a {type(got).__name__} went out"
        for after, before in zip(
            got if isinstance(got, tuple) else [got], state if isinstance(state, tuple) else [state], strict=True
        ):
            assert not after.requires_grad, f"a {kind} still has its history"
            assert torch.equal(after, before), f"the values of a {kind} have changed"
    assert tensor.requires_grad, "the original has lost its history: use detach(), not detach_()"
    return "It works for RNN, GRU and LSTM alike."


def _slope(slope):
    for u, xs in ((0.7, [0.3]), (0.7, [0.3, -0.2, 0.9]), (-1.2, [0.1] * 6)):
        weight = torch.tensor(u, dtype=torch.float64, requires_grad=True)
        h = torch.tensor(0.5, dtype=torch.float64)
        for x in xs:
            h = torch.tanh(weight * h + x)
        h.backward()
        got, want = slope(u, xs), weight.grad.item()
        assert isinstance(got, float), f"return one number, not a {type(got).__name__}"
        if len(xs) > 1 and not math.isclose(got, want, abs_tol=1e-9):
            assert not math.isclose(got, _without_history(u, xs), abs_tol=1e-9), (
                "that leaves out how u changed the state before: the term u * dh"
            )
        assert math.isclose(got, want, abs_tol=1e-9), f"for u = {u}, xs = {xs} it should be {want:.6f}, not {got:.6f}"
    return "Autograd gives the same number."


def _without_history(u, xs):
    h = before = 0.5
    for x in xs:
        before, h = h, math.tanh(u * h + x)
    return (1 - h**2) * before


CHECKS = {"1.1": _states, "1.2": _detach, "1.3": _slope}
