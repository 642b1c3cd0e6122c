"""One recurrent layer alone: its forms in turns, compiled ones with their graphs, and time over length."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers import recurrent
from helpers.compiling import compiler_fault, count_graphs
from helpers.studies.recording import Recorder, largest_difference, plain
from helpers.timing import Measurement, break_even, compare, measure

BATCH, TIME, INPUT, HIDDEN = 32, 50, 100, 256  # the source article's
LENGTHS = (64, 128, 256, 512, 1024)
COMPILED_TIME = 10  # steps in a chunk that is compiled


def layers_study(recorder: Recorder, device: torch.device, repeats: int) -> None:
    """Measure all forms; each compiled one apart, since it may fail or take minutes."""
    before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False  # all forms in full float32
    try:
        _parts(recorder, device, repeats)
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _parts(recorder: Recorder, device: torch.device, repeats: int) -> None:
    rounds = 4 * repeats + 3
    recorder.part("layers", "forms", lambda: _forms(device, rounds))
    on_cuda = device.type == "cuda"
    for name in ("cell", "chunk", *(["chunk, reduce-overhead"] if on_cuda else []), "nn.RNN with allow_rnn"):
        recorder.part("layers", f"compiled {name}", lambda n=name: _compiled(n, device, rounds), may_fail=True)
    recorder.part("layers", "graphs over lengths", _graphs_over_lengths, may_fail=True)
    recorder.part("layers", "time over length", lambda: _over_length(device, repeats))


def _layers(device: torch.device) -> tuple[dict[str, Callable[[Tensor], Tensor]], dict[str, nn.Module]]:
    """Return forms of the layer with equal weights, by name, and the modules that hold the weights."""
    torch.manual_seed(0)
    plain_rnn, fast = nn.RNN(INPUT, HIDDEN, batch_first=True), recurrent.FastRNN(INPUT, HIDDEN)
    fast.load_state_dict(plain_rnn.state_dict())
    modules = {"nn.RNN": plain_rnn, "backward by hand": fast}
    forms = {"nn.RNN": lambda x: plain_rnn(x)[0], "backward by hand": lambda x: fast(x)[0]}
    written = {
        "unbind and addmm": recurrent.by_addmm,
        "unbind": recurrent.by_unbind,
        "one cell a step": recurrent.by_cell,
        "[:, t] in a loop": recurrent.by_index,
    }
    for name, form in written.items():
        modules[name], forms[name] = plain_rnn, lambda x, form=form: form(plain_rnn, x)
    for name, layer in (("nn.LSTM", nn.LSTM), ("nn.GRU", nn.GRU)):
        modules[name] = layer(INPUT, HIDDEN, batch_first=True)
        forms[name] = lambda x, layer=modules[name]: layer(x)[0]
    for module in modules.values():
        module.to(device)
    return forms, modules


def _step(form: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], None]:
    def step() -> None:
        module.zero_grad()
        form(x).backward(grad)

    return step


def _forms(device: torch.device, repeats: int) -> dict[str, Any]:
    forms, modules = _layers(device)
    x = torch.randn(BATCH, TIME, INPUT, device=device, requires_grad=True)
    grad = torch.randn(BATCH, TIME, HIDDEN, device=device)
    comparison = compare(
        {name: _step(form, modules[name], x, grad) for name, form in forms.items()},
        device,
        repeats=repeats,
        min_seconds=0.1,
    )
    want = _gradients(forms["nn.RNN"], modules["nn.RNN"], x, grad)
    result = {}
    for name, form in forms.items():
        result[name] = plain(comparison.measurements[name], comparison.speedups[name])
        if name not in ("nn.LSTM", "nn.GRU"):
            got = _gradients(form, modules[name], x, grad)
            result[name]["gradient_difference"] = largest_difference(got, want)
            result[name]["largest_gradient"] = max(value.abs().max().item() for value in want)
    return result


def _gradients(form: Callable, module: nn.Module, x: Tensor, grad: Tensor) -> Sequence[Tensor]:
    return torch.autograd.grad(form(x), [x, *module.parameters()], grad)


def _compiled(name: str, device: torch.device, repeats: int) -> dict[str, Any]:
    """Compare a compiled form with the same form eager; say the graphs and after how many steps it has paid."""
    if fault := compiler_fault():
        raise RuntimeError(fault)
    torch.compiler.reset()
    torch.manual_seed(0)
    rnn = nn.RNN(INPUT, HIDDEN, batch_first=True).to(device)
    x = torch.randn(BATCH, TIME, INPUT, device=device)
    grad = torch.randn(BATCH, TIME, HIDDEN, device=device)

    weight = rnn.weight_hh_l0  # a function that names `rnn` itself is not traced

    def cell(step: Tensor, state: Tensor) -> Tensor:
        return torch.tanh(step + state @ weight.T)

    def over_steps(call: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def form(x: Tensor) -> Tensor:
            state, states = x.new_zeros(BATCH, HIDDEN), []
            inputs = nn.functional.linear(x.transpose(0, 1), rnn.weight_ih_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)
            for step in inputs.unbind(0):
                state = call(step, state)
                states.append(state)
            return torch.stack(states, dim=1)

        return form

    def chunk(steps: Tensor, state: Tensor) -> Tensor:
        states = []
        for step in steps.unbind(0):
            state = torch.tanh(step + state @ weight.T)
            states.append(state)
        return torch.stack(states)

    def over_chunks(call: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def form(x: Tensor) -> Tensor:
            state, pieces = x.new_zeros(BATCH, HIDDEN), []
            inputs = nn.functional.linear(x.transpose(0, 1), rnn.weight_ih_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)
            for piece in inputs.split(COMPILED_TIME):
                pieces.append(call(piece, state).clone())  # a CUDA graph writes into the same memory again
                state = pieces[-1][-1]
            return torch.cat(pieces).transpose(0, 1)

        return form

    with count_graphs() as count, torch._dynamo.config.patch(allow_rnn=name == "nn.RNN with allow_rnn"):
        if name == "cell":
            eager, quick = over_steps(cell), over_steps(torch.compile(cell))
        elif name.startswith("chunk"):
            mode = "reduce-overhead" if name.endswith("reduce-overhead") else None
            eager, quick = over_chunks(chunk), over_chunks(torch.compile(chunk, mode=mode))
        else:
            compiled_rnn = torch.compile(rnn)
            eager, quick = (lambda x: rnn(x)[0]), (lambda x: compiled_rnn(x)[0])
        calls = {"eager": _step(eager, rnn, x, grad), "compiled": _step(quick, rnn, x, grad)}
        comparison = compare(calls, device, repeats=repeats, min_seconds=0.1)
        wanted, got = (torch.autograd.grad(form(x), list(rnn.parameters()), grad) for form in (eager, quick))
    if not count.graphs:
        raise RuntimeError("no graph was compiled")
    steps = break_even(comparison.measurements["compiled"], comparison.measurements["eager"])
    return {
        "graphs": count.graphs,
        **{key: plain(comparison.measurements[key], comparison.speedups[key]) for key in calls},
        "break_even_steps": steps if math.isfinite(steps) else None,
        "gradient_difference": largest_difference(got, wanted),
    }


def _graphs_over_lengths() -> dict[str, Any]:
    """Count the graphs of a loop over time that is compiled, for 13 lengths and for four buckets of them."""

    def loop(x: Tensor, weight: Tensor) -> Tensor:
        state = x.new_zeros(x.size(0), x.size(2))
        for step in x.unbind(1):
            state = torch.tanh(step + state @ weight)
        return state

    counts = {}
    lengths = {"13 lengths": range(8, 21), "4 buckets": [4 * math.ceil(length / 4) for length in range(8, 21)]}
    for name, times in lengths.items():
        with count_graphs() as count:
            call = torch.compile(loop, backend="eager")
            for time in times:
                call(torch.randn(2, time, 3), torch.randn(3, 3))
        counts[name] = count.graphs
    return {**counts, "limit": torch._dynamo.config.recompile_limit}


def _over_length(device: torch.device, repeats: int) -> dict[str, Any]:
    """Time a step over lengths, and fit the exponent of the length: 1 is linear, 2 quadratic.

    The loop that reads `[:, t]` has lengths of its own, apart from the others: it moves so much memory that a step
    of theirs beside it is slower, and at 1024 one step of it takes many seconds.
    """
    forms, modules = _layers(device)
    measurements: dict[str, list[Measurement]] = {}
    for names, lengths in ((("nn.RNN", "backward by hand"), LENGTHS), (("[:, t] in a loop",), LENGTHS[:-1])):
        measurements |= {name: [] for name in names}
        for time in lengths:
            x = torch.randn(BATCH, time, INPUT, device=device)
            grad = torch.randn(BATCH, time, HIDDEN, device=device)
            for name in names:
                step = _step(forms[name], modules[name], x, grad)
                measurements[name].append(measure(step, device, repeats=2 * repeats + 1, min_seconds=0.1))
    return {
        "lengths": list(LENGTHS),
        "seconds": {name: [m.median_seconds for m in row] for name, row in measurements.items()},
        "peak_mebibytes": {name: [m.peak_mebibytes for m in row] for name, row in measurements.items()},
        "exponents": {name: exponents(LENGTHS[: len(row)], row) for name, row in measurements.items()},
    }


def exponents(lengths: Sequence[int], measurements: Sequence[Measurement]) -> Mapping[str, float]:
    """Fit log time over log length by least squares, to each repeat; return the median and the range."""
    logs = [math.log(length) for length in lengths]
    slopes = [
        statistics.linear_regression(logs, [math.log(m.seconds[k]) for m in measurements]).slope
        for k in range(measurements[0].repeats)
    ]
    return {"median": statistics.median(slopes), "spread": max(slopes) - min(slopes)}
