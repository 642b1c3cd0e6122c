"""Checks of the exercises in 05 · Slow to fast."""

import torch
from torch import nn


def _weight_gradient(weight_gradient):
    torch.manual_seed(0)
    grads, before = torch.randn(5, 3, 4), torch.randn(5, 3, 4)
    got = weight_gradient(grads, before)
    want = torch.einsum("tbi,tbj->ij", grads, before)
    assert isinstance(got, torch.Tensor), f"a tensor is wanted, not {type(got).__name__}"
    assert got.shape == want.shape, f"the shape should be [hidden, hidden] = (4, 4), it is {tuple(got.shape)}"
    assert not torch.allclose(got, want.T, atol=1e-5), (
        "that is the transpose: the gradient's hidden axis comes first, since the product is with weight.T"
    )
    assert not torch.allclose(got, want / 15, atol=1e-5), "the steps and rows add up; that is their mean"
    assert not torch.allclose(got, grads[-1].T @ before[-1], atol=1e-5), "that is the last step's part alone"
    assert torch.allclose(got, want, atol=1e-5), "the sum over all steps and rows is another"
    return "One product over all steps."


def _rounded_lengths(rounded_lengths):
    lengths = [8, 9, 13, 20, 17, 8]
    got = rounded_lengths(list(lengths), 4)
    assert len(got) == len(lengths), f"{len(lengths)} lengths went in, {len(got)} came out: one for each, in order"
    assert all(new >= old for new, old in zip(got, lengths, strict=True)), (
        f"{lengths} became {list(got)}: a length may grow, and never shrink, or words are lost"
    )
    assert len(set(got)) <= 4, f"{len(set(got))} different lengths are left, at most 4 are wanted"
    assert list(got) != [20] * 6, "one length is few enough, but pads all to the longest: use the four"
    assert list(got) == [10, 10, 15, 20, 20, 10], f"with steps of 5: 10, 10, 15, 20, 20, 10, and not {list(got)}"
    odd = rounded_lengths([7, 3, 1], 2)
    assert list(odd) == [8, 4, 4], f"7, 3, 1 in two lengths are 8, 4, 4 (the step rounds up), and not {list(odd)}"
    return "A handful of graphs serves all lengths."


def _scaled_step(scaled_step):
    torch.manual_seed(0)
    layer = nn.Linear(30, 1)
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
    loss = (layer(torch.randn(64, 30)) * 40).square().mean()
    true = torch.autograd.grad(loss, list(layer.parameters()), retain_graph=True)
    norm = float(scaled_step(loss, optimizer, list(layer.parameters()), scaler))
    moved = (layer.weight - before).norm().item()
    want = torch.cat([grad.flatten() for grad in true]).norm().item()
    assert moved > 0, "the weights have not moved: is scaler.step(optimizer) there?"
    assert abs(norm / want - 65536) > 1000, (
        f"the norm is {norm:.0f}, 65,536 times the true one: unscale_ comes before clipping"
    )
    assert moved > 0.5, f"the step has length {moved:.1e} and not about 1: something is still scaled, or scaled twice"
    assert moved < 1.01, f"the step has length {moved:.1f}: the gradient is not clipped to 1"
    assert abs(norm / want - 1) < 1e-3, f"return the norm before clipping, {want:.1f}; it is {norm:.3g}"
    assert scaler._growth_tracker is not None, "scale the loss with scaler.scale(loss) before backward"
    assert scaler._growth_tracker.item() == 1, "scaler.update() ends the step"
    return "Scale, backward, unscale, clip, step, update."


CHECKS = {"5.1": _weight_gradient, "5.2": _rounded_lengths, "5.3": _scaled_step}
