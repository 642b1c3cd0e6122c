"""The clock: what it reads, in which order, and what it makes of it."""

import time

import pytest
import torch
from torch.utils import benchmark

from helpers import device, timing


def measurement(median, first=0.0):
    return timing.Measurement(median, 0.0, first, 0.0, 1, 1, 1, "cpu", (median,))


def spin(seconds):
    """Be busy for a while; sleep would let the machine's timer slack in."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@pytest.fixture
def fake_accelerator(monkeypatch):
    """A device called cuda that writes down in which order it is asked and worked."""
    log = []
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda *_: log.append("sync"))
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", lambda *_: log.append("reset"))
    monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda *_: 3 * device.MEBIBYTE)
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda *_: 10 * device.MEBIBYTE)
    clock = time.perf_counter

    def read():
        log.append("clock")
        return clock()

    monkeypatch.setattr(timing.time, "perf_counter", read)
    return log


def test_an_accelerator_is_synchronised_before_both_readings_of_the_clock(fake_accelerator):
    log = fake_accelerator
    timing.measure(lambda: log.append("run"), "cuda", repeats=3, min_seconds=0)
    readings = "".join({"sync": "s", "clock": "c", "run": "r", "reset": "R"}[entry] for entry in log)
    assert readings.startswith("scrsc"), readings  # the first call
    assert readings.endswith("scrsc" * 3), readings  # three repeats
    assert "rc" not in readings, "the clock was read while the device may still have been working"


def test_the_peak_on_an_accelerator_is_reset_first_and_counted_from_its_start(fake_accelerator):
    result = timing.measure(lambda: fake_accelerator.append("run"), "cuda", repeats=1, min_seconds=0)
    assert fake_accelerator.index("reset") > fake_accelerator.index("run")  # after the first call, before the second
    assert result.peak_mebibytes == 7


def test_nothing_is_synchronised_on_a_cpu(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda *_: pytest.fail("synchronised"))
    timing.measure(lambda: None, repeats=1, min_seconds=0)


def test_the_median_is_the_time_of_the_call():
    result = timing.measure(lambda: spin(0.01), repeats=5)
    assert 0.0095 < result.median_seconds < 0.02
    assert result.repeats == len(result.seconds) == 5


def test_short_calls_are_repeated_until_a_reading_is_long_enough():
    result = timing.measure(lambda: None, repeats=2, min_seconds=0.005)
    assert result.calls_per_repeat > 1000
    assert result.median_seconds < 5e-6


def test_the_first_call_stands_apart():
    calls = []

    def compiled_at_first():
        calls.append(1)
        spin(0.05 if len(calls) == 1 else 0.001)

    result = timing.measure(compiled_at_first, repeats=5, min_seconds=0)
    assert result.first_call_seconds > 0.04
    assert result.median_seconds < 0.01


def test_wrapping_a_model_for_compilation_is_not_its_compilation():
    model = torch.nn.Linear(8, 8)
    torch.compile(model, backend="eager")  # imports the compiler
    start = time.perf_counter()
    compiled = torch.compile(model, backend="eager")
    wrapping = time.perf_counter() - start
    x = torch.ones(2, 8)
    assert timing.measure(lambda: compiled(x), repeats=3).first_call_seconds > wrapping


def test_the_number_of_threads_is_stated_and_left_as_it_is():
    threads = torch.get_num_threads()
    assert timing.measure(lambda: None, repeats=1, min_seconds=0).threads == threads == torch.get_num_threads()


def test_it_agrees_with_torchs_own_timer():
    a = torch.randn(256, 256)
    ours = timing.measure(lambda: a @ a, repeats=15).median_seconds
    timer = benchmark.Timer("a @ a", globals={"a": a}, num_threads=torch.get_num_threads())
    theirs = timer.blocked_autorange(min_run_time=0.3).median
    assert 0.4 < ours / theirs < 2.5  # the machine may be busy in between


def test_versions_take_turns():
    log = []
    timing.compare({"a": lambda: log.append("a"), "b": lambda: log.append("b")}, repeats=3, min_seconds=0)
    assert "".join(log).endswith("ababab")


def test_a_ratio_is_taken_turn_by_turn_so_that_a_drift_cancels():
    slower_and_slower = iter([1, 1, 2, 2, 4, 4, 8, 8, 16, 16])
    calls = {"slow": 0, "fast": 0}

    def work(name, cost):
        calls[name] += 1
        spin(0.001 * cost * (next(slower_and_slower) if calls[name] > 3 else 1))  # three calls before the turns

    result = timing.compare(
        {"slow": lambda: work("slow", 2), "fast": lambda: work("fast", 1)}, repeats=5, min_seconds=0
    )
    assert result.speedups["fast"].median == pytest.approx(2, rel=0.4)


def test_a_comparison_of_one_is_refused():
    with pytest.raises(ValueError, match="two versions"):
        timing.compare({"alone": lambda: None})


@pytest.mark.parametrize("repeats", [0, -1])
def test_no_repeats_are_refused(repeats):
    with pytest.raises(ValueError, match="1 or more"):
        timing.measure(lambda: None, repeats=repeats)


@pytest.mark.parametrize(
    ("compiled", "eager", "calls"),
    [
        (measurement(0.004, first=84.0), measurement(0.008, first=0.008), 21_000),  # 84 s at 4 ms a call, and the first
        (measurement(1.0, first=10.0), measurement(2.0, first=2.0), 9),
        (measurement(2.0, first=10.0), measurement(1.0, first=1.0), float("inf")),
        (measurement(1.0, first=10.0), measurement(1.0, first=1.0), float("inf")),
        (measurement(1.0, first=1.0), measurement(2.0, first=2.0), 0),
    ],
)
def test_break_even_counts_calls_until_a_slow_start_is_earned_back(compiled, eager, calls):
    assert timing.break_even(compiled, eager) == pytest.approx(calls, rel=1e-3)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "≈12.3 ms"),
        (1.5e-6, "s", "≈1.5 µs"),
        (2e-9, "s", "≈2 ns"),
        (83.9, "s", "≈83.9 s"),
        (0.99951, "s", "≈1 s"),
        (4512.3, "tokens/s", "≈4,512 tokens/s"),
        (2.5, "×", "≈2.5 ×"),
        (float("inf"), "s", "≈inf s"),
    ],
)
def test_measured_values_are_written_with_a_sign_and_a_readable_unit(value, unit, text):
    assert timing.measured(value, unit) == text
