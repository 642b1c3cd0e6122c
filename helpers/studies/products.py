"""The matrix products that a training step cannot do without, alone: the rate that nothing in it can pass."""

from collections.abc import Callable

import torch
from torch import nn

from helpers.batching import IGNORED, Batch, WordBatch
from helpers.language import WordModel

Shape = tuple[int, int, int, int]  # rows, inner, columns, how often


def product_calls(
    model: nn.Module, batch: Batch | WordBatch, *, everywhere: bool, dtype: torch.dtype = torch.float32
) -> tuple[Callable[[], None], int]:
    """Return a call that multiplies plain matrices of all shapes of a step, and its operations (2 a multiply-add).

    Forward and backward: for each layer its output, the gradient of its input and that of its weight. The recurrent
    products are `time` small ones each way, and one for the weight.
    """
    shapes = _layer(model.rnn, batch.tokens) + _output(model, batch, everywhere)
    device = batch.tokens.device
    work = []
    for rows, inner, columns, count in shapes:
        a, b = (torch.randn(shape, device=device, dtype=dtype) for shape in ((rows, inner), (inner, columns)))
        work += [(a, b, a.new_empty(rows, columns))] * count

    def products() -> None:
        for a, b, out in work:
            torch.mm(a, b, out=out)

    return products, sum(2 * rows * inner * columns * count for rows, inner, columns, count in shapes)


def _linear(rows: int, inner: int, columns: int) -> list[Shape]:
    return [(rows, inner, columns, 1), (rows, columns, inner, 1), (inner, rows, columns, 1)] if rows else []


def _layer(rnn: nn.RNNBase, tokens: torch.Tensor) -> list[Shape]:
    batch, time = tokens.shape
    gates, width = rnn.weight_hh_l0.shape  # gates × hidden_size, hidden_size
    steps = [(batch, width, gates, time), (batch, gates, width, time), (gates, batch * time, width, 1)]
    return _linear(batch * time, rnn.input_size, gates) + steps


def _output(model: nn.Module, batch: Batch | WordBatch, everywhere: bool) -> list[Shape]:
    if not isinstance(model, WordModel):
        return _linear(len(batch.tokens), model.fc.in_features, model.fc.out_features)
    real = batch.targets[batch.targets != IGNORED]
    if isinstance(model.output, nn.Linear):
        rows = batch.targets.numel() if everywhere else len(real)
        return _linear(rows, model.output.in_features, model.output.out_features)
    head = model.output.head
    shapes = _linear(len(real), head.in_features, head.out_features)
    edges = model.output.cutoffs
    for low, high, (project, words) in zip(edges[:-1], edges[1:], model.output.tail, strict=True):
        rows = int(((real >= low) & (real < high)).sum())
        shapes += _linear(rows, project.in_features, project.out_features)
        shapes += _linear(rows, words.in_features, words.out_features)
    return shapes
