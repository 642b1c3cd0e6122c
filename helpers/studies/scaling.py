"""What more processes buy: one batch for one process and shared by several, with the threads of each stated."""

import json
import statistics
from typing import Any

import torch

from helpers.launching import launch
from helpers.studies.recording import Recorder

EXAMPLES = 256  # a step, of all processes together


def scaling_study(recorder: Recorder, device: torch.device, repeats: int) -> None:
    """Compare gradients over processes with those of one, then time steps: on GPUs, one process each."""
    most = max(2, torch.cuda.device_count()) if device.type == "cuda" else 2
    recorder.part(
        "scaling", "sameness", lambda: {dtype: _run(most, 1, "by_ddp", dtype) for dtype in ("float64", "float32")}
    )
    recorder.part("scaling", "time", lambda: _time(most, device, repeats))


def _time(most: int, device: torch.device, repeats: int) -> dict[str, Any]:
    """Launch the ways in turns; within each, steps whose gradients cross take turns with steps whose stay."""
    cores = torch.get_num_threads()
    each = max(1, cores // most)
    ways = {
        "1 process, all threads": (1, cores),  # equal threads in total
        "1 process, its share of threads": (1, each),  # equal threads a process
        f"{most} processes, a share each": (most, each),
    }
    readings: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, (processes, threads) in ways.items():
            readings[name].append(_run(processes, threads, "timed", str(EXAMPLES)))
    seconds = {name: [reading["crossing"] for reading in taken] for name, taken in readings.items()}
    whole, alone, shared = seconds.values()
    crossing = [reading["crossing"] - reading["staying"] for reading in readings[list(ways)[-1]]]
    return {
        "examples": EXAMPLES,
        "device": device.type,
        "ways": {
            name: {"processes": processes, "threads": threads, **_middle("step_seconds", seconds[name])}
            for name, (processes, threads) in ways.items()
        },
        **_middle("crossing_seconds", crossing),
        **_middle("efficiency", [a / s / most for a, s in zip(alone, shared, strict=True)]),
        **_middle("gain_at_equal_threads", [w / s for w, s in zip(whole, shared, strict=True)]),
    }


def _run(processes: int, threads: int, *arguments: str) -> Any:
    return json.loads(launch("helpers.workers", *arguments, processes=processes, threads=threads))


def _middle(name: str, values: list[float]) -> dict[str, float]:
    return {name: statistics.median(values), f"{name}_spread": max(values) - min(values)}
