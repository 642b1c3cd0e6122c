"""The course's clock: how long a call takes, how much two versions differ, and when a slow start pays off.

`torch.utils.benchmark.Timer` sets the standard (its threads, its synchronisation), but it runs a call twice
before each reading and by default on one thread. A training epoch is too long for the first and should not be
timed with the second, so this room reads a synchronising clock through the standard library's `timeit`,
and a test holds its figures beside the Timer's.
"""

import math
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from helpers.device import peak_memory


@dataclass(frozen=True)
class Measurement:
    """How long one call takes. The spread is the distance between the quartiles of the repeats."""

    median_seconds: float
    spread_seconds: float
    first_call_seconds: float  # the very first call, with compilation, allocation and cold caches
    peak_mebibytes: float  # how far the memory of tensors rises in one call
    repeats: int
    calls_per_repeat: int
    threads: int
    device: str
    seconds: tuple[float, ...] = field(repr=False)  # one call's seconds, a value a repeat

    def __str__(self) -> str:
        return (
            f"{measured(self.median_seconds)} a call (spread {measured(self.spread_seconds)}, "
            f"{self.repeats} repeats, {self.threads} threads, {self.device})"
        )


@dataclass(frozen=True)
class Ratio:
    """How many times faster than the baseline: the median over the turns, and the quartiles around it."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"≈{self.median:.2f} × (≈{self.low:.2f} to ≈{self.high:.2f})"


@dataclass(frozen=True)
class Comparison:
    """Measurements of versions that took turns, and each one's ratio to the first."""

    measurements: dict[str, Measurement]
    speedups: dict[str, Ratio]

    def __str__(self) -> str:
        width = max(map(len, self.measurements))
        return "\n".join(
            f"{name:<{width}}  {measured(self.measurements[name].median_seconds):>10}  {self.speedups[name]}"
            for name in self.measurements
        )


def measured(value: float, unit: str = "s") -> str:
    """Write a measured value with `≈` before it and a readable prefix: 0.0123 s is `≈12.3 ms`.

    Everything measured is printed so, and the tests mask just that: other numbers must stay the same.
    """
    if unit == "s" and math.isfinite(value):
        for factor, prefix in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
            if abs(value) < 999.5 / factor:
                return f"≈{value * factor:.3g} {prefix}"
    return f"≈{value:,.0f} {unit}" if abs(value) >= 100 else f"≈{value:.3g} {unit}"


def measure(
    call: Callable[[], object],
    device: torch.device | str = "cpu",
    *,
    repeats: int = 7,
    min_seconds: float = 0.02,
) -> Measurement:
    """Time `call()`: the first call apart, a second one for memory and warm-up, then `repeats` readings.

    A reading is as many calls as take at least `min_seconds`. On an accelerator the device is synchronised
    before both readings of the clock, so that the time is the work's and not only its launch's.
    The number of threads is torch's own (`torch.get_num_threads()`) and is left as it is.
    """
    (measurement,) = _take_turns({"": call}, device, repeats, min_seconds).values()
    return measurement


def compare(
    calls: Mapping[str, Callable[[], object]],
    device: torch.device | str = "cpu",
    *,
    repeats: int = 7,
    min_seconds: float = 0.02,
) -> Comparison:
    """Time versions in turns (A B A B …), and give each turn's ratio to the first version.

    A shared machine grows slower and faster by the minute: taking turns lets the drift fall on all alike.
    Arguments as for `measure`. Raises ValueError for fewer than two versions.
    """
    if len(calls) < 2:
        raise ValueError(f"a comparison needs two versions or more, not {len(calls)}")
    measurements = _take_turns(calls, device, repeats, min_seconds)
    baseline, *_ = measurements.values()
    speedups = {}
    for name, measurement in measurements.items():
        turns = [b / s for b, s in zip(baseline.seconds, measurement.seconds, strict=True)]
        low, high = _quartiles(turns)
        speedups[name] = Ratio(statistics.median(turns), low, high)
    return Comparison(measurements, speedups)


def break_even(slow_start: Measurement, quick_start: Measurement) -> float:
    """Return after how many calls a version with a slow first call (compiled, say) has earned it back.

    0 where it starts no slower, infinity where it is not faster afterwards.
    """
    debt = slow_start.first_call_seconds - quick_start.first_call_seconds
    gain = quick_start.median_seconds - slow_start.median_seconds
    if debt <= 0:
        return 0
    return 1 + math.ceil(debt / gain) if gain > 0 else math.inf


def _take_turns(
    calls: Mapping[str, Callable[[], object]], device: torch.device | str, repeats: int, min_seconds: float
) -> dict[str, Measurement]:
    """Measure each of `calls`, one reading of each in every round."""
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more, not {repeats}")
    device = torch.device(device)
    timers = {name: timeit.Timer(call, timer=lambda: synchronised_clock(device)) for name, call in calls.items()}
    first, peak, number = {}, {}, {}
    for name, timer in timers.items():
        first[name] = timer.timeit(1)
        with peak_memory(device) as peak[name]:
            calls[name]()
        number[name] = _calls_for(timer, min_seconds)
    readings: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, timer in timers.items():
            readings[name].append(timer.timeit(number[name]) / number[name])
    result = {}
    for name, seconds in readings.items():
        low, high = _quartiles(seconds)
        result[name] = Measurement(
            median_seconds=statistics.median(seconds),
            spread_seconds=high - low,
            first_call_seconds=first[name],
            peak_mebibytes=peak[name].mebibytes,
            repeats=repeats,
            calls_per_repeat=number[name],
            threads=torch.get_num_threads(),
            device=str(device),
            seconds=tuple(seconds),
        )
    return result


def _calls_for(timer: timeit.Timer, min_seconds: float) -> int:
    """Return how many calls take at least `min_seconds`; 1 where a single call is known to take longer."""
    number = 1
    while (seconds := timer.timeit(number)) < min_seconds:
        number = max(2 * number, math.ceil(number * min_seconds / max(seconds, 1e-9)))
    return number


def synchronised_clock(device: torch.device) -> float:
    """Wait until the device has done all that it was given, then read the clock, in seconds."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
    return time.perf_counter()


def _quartiles(values: list[float]) -> tuple[float, float]:
    """Return the first and third quartile; both are the value itself where there is only one."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
