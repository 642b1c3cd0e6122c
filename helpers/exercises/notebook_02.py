"""Checks of the exercises in 02 · GPU, transfer and memory."""

import math

import torch
from torch.profiler import ProfilerActivity, profile


def _module_bytes(module_bytes):
    linear = torch.nn.Linear(10, 20)
    got = module_bytes(linear)
    assert got != 220, "that is the number of elements: multiply by the bytes of each, element_size()"
    assert got == 880, f"Linear(10, 20) has 200 weights and 20 biases of 4 bytes, 880 in all, not {got}"
    assert module_bytes(linear.double()) == 1760, "in float64 an element has 8 bytes: ask element_size()"
    norm = torch.nn.BatchNorm1d(4)  # two parameters and two buffers of 4 floats, and a counter of 8 bytes
    assert module_bytes(norm) != 32, "that leaves out the buffers, BatchNorm's running mean and variance"
    assert module_bytes(norm) == 72, f"BatchNorm1d(4) takes 72 bytes, not {module_bytes(norm)}"
    return "Parameters and buffers, in any dtype."


def _accuracy(accuracy):
    torch.manual_seed(0)
    batches = [(torch.randn(size, 3), torch.randint(3, (size,))) for size in (64, 64, 5)]
    with profile(activities=[ProfilerActivity.CPU]) as watch:
        got = accuracy(batches)
    waits = sum(event.count for event in watch.key_averages() if event.key == "aten::_local_scalar_dense")
    right = [(logits.argmax(1) == labels).double() for logits, labels in batches]
    want = torch.cat(right).mean().item()
    assert isinstance(got, float), f"return a float, not a {type(got).__name__}: ask for the value at the end"
    mean_of_means = sum(batch.mean().item() for batch in right) / len(right)
    assert not math.isclose(got, mean_of_means, abs_tol=1e-6), (
        "that is the mean of the batches' accuracies: add up counts"
    )
    assert math.isclose(got, want, abs_tol=1e-6), f"the accuracy is {want:.4f}, not {got:.4f}"
    assert waits <= 1, f"it asked for a value {waits} times; once is enough (print asks, too)"
    return "One question, however many batches."


def _peak(peak_mebibytes):
    activations_only = peak_mebibytes(0, 2, 32, 50, 128)
    assert math.isclose(activations_only, 1.5625), (
        f"32 × 50 × 128 should need 1.5625 MiB of activations, not {activations_only}"
    )
    plain = peak_mebibytes(2**20, 0, 0, 1, 1)
    assert plain != 4, "that leaves out the gradients: they are as large as the parameters"
    assert math.isclose(plain, 8), f"a million parameters with plain SGD should need 8 MiB, not {plain}"
    adam = peak_mebibytes(2**20, 2, 0, 1, 1)
    assert math.isclose(adam, 16), f"with Adam's two numbers a parameter it should be 16 MiB, not {adam}"
    return "The optimizer's share is 2 of 4 with Adam, 0 of 2 with plain SGD."


CHECKS = {"2.1": _module_bytes, "2.2": _accuracy, "2.3": _peak}
