"""What memory costs and saves: checkpointing over time, a chunked output layer, and fullgraph."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from helpers.compiling import compiler_fault
from helpers.device import peak_memory
from helpers.studies.recording import Recorder, plain
from helpers.timing import compare

BATCH, INPUT, HIDDEN, WORDS = 32, 100, 256, 6000
LENGTHS = (50, 200, 800)
SEGMENTS = 8


def memory_study(recorder: Recorder, device: torch.device, repeats: int) -> None:
    """Measure peak and time of each way to save memory beside the plain way."""
    for time in LENGTHS:
        recorder.part("memory", f"checkpoint over {time} steps", lambda t=time: _checkpointed(t, device, repeats))
    recorder.part("memory", "output layer", lambda: _output_layer(device, repeats), may_fail=True)


def _checkpointed(time: int, device: torch.device, repeats: int) -> dict[str, Any]:
    torch.manual_seed(0)
    rnn = nn.RNN(INPUT, HIDDEN, batch_first=True).to(device)
    x = torch.randn(BATCH, time, INPUT, device=device)

    def loss(segments: int) -> Tensor:
        state, total = torch.zeros(1, BATCH, HIDDEN, device=device), 0
        for piece in x.chunk(segments, dim=1):
            if segments > 1:
                out, state = checkpoint(rnn, piece, state, use_reentrant=False)
            else:
                out, state = rnn(piece, state)
            total = total + out.square().sum()
        return total

    return _compare(loss, {"plain": 1, f"{SEGMENTS} segments": SEGMENTS}, rnn, device, repeats)


def _output_layer(device: torch.device, repeats: int) -> dict[str, Any]:
    if fault := compiler_fault():
        raise RuntimeError(fault)
    torch.manual_seed(0)
    layer = nn.Linear(HIDDEN, WORDS).to(device)
    hidden = torch.randn(BATCH * 50, HIDDEN, device=device, requires_grad=True)
    targets = torch.randint(WORDS, (BATCH * 50,), device=device)

    def mean_loss(hidden: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(layer(hidden), targets)

    def in_chunks(hidden: Tensor, targets: Tensor) -> Tensor:
        parts = [
            checkpoint(mean_loss, some, wanted, use_reentrant=False)
            for some, wanted in zip(hidden.chunk(8), targets.chunk(8), strict=True)
        ]
        return torch.stack(parts).mean()

    def mean_loss_again(hidden: Tensor, targets: Tensor) -> Tensor:  # compiled apart: code is kept by function
        return nn.functional.cross_entropy(layer(hidden), targets)

    versions = {
        "plain": mean_loss,
        "8 chunks": in_chunks,
        "compiled": torch.compile(mean_loss),
        "compiled, fullgraph": torch.compile(mean_loss_again, fullgraph=True),
    }
    return _compare(lambda version: version(hidden, targets), versions, layer, device, repeats)


def _compare(
    loss: Callable[[Any], Tensor], versions: dict[str, Any], module: nn.Module, device: torch.device, repeats: int
) -> dict[str, Any]:
    def step(version: Any) -> Callable[[], None]:
        def call() -> None:
            module.zero_grad()
            loss(version).backward()

        return call

    calls = {name: step(version) for name, version in versions.items()}
    comparison = compare(calls, device, repeats=2 * repeats + 1, min_seconds=0.1)
    result = {}
    for name, call in calls.items():
        module.zero_grad()  # so that no version begins with gradients to give back
        with peak_memory(device) as peak:
            call()
        result[name] = plain(comparison.measurements[name], comparison.speedups[name])
        result[name]["peak_mebibytes"] = peak.mebibytes
    return result
