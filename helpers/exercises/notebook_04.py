"""Checks of the exercises in 04 · Where the time goes."""

import math


def _padding_of(padding_of):
    lengths = [2, 10, 4, 4, 5]  # batches of two: 20, 8 and 5 places
    got = float(padding_of(lengths, 2))
    assert not math.isclose(got, 25 / 33), "that is the share of real tokens; padding is the rest"
    assert not math.isclose(got, 0.5), "that pads to the longest of all texts, not of each batch"
    assert not math.isclose(got, (8 / 20 + 0 + 0) / 3), (
        "that is the mean of the batches' shares: add up the places of all batches, then divide once"
    )
    assert not math.isclose(got, 13 / 38), "the last batch has one text, not two: count its own rows"
    assert math.isclose(got, 8 / 33), f"of 33 places 8 are padding: {8 / 33:.4f}, not {got:.4f}"
    assert float(padding_of([7, 7, 7], 3)) == 0, "texts of one length need no padding"
    return "Sort the lengths and call it again: that is what buckets do."


def _limiter(limiter):
    name, times = limiter({"input": 1.0, "forward": 2.0, "backward": 5.0, "optimizer": 2.0})
    assert name == "backward", f"the longest section is backward, not {name}"
    assert not math.isclose(times, 0.5), "that is its share of the epoch, not how many times as fast"
    assert math.isclose(times, 2.0), f"10 s become 5 s, which is 2 times as fast, not {times:.3g}"
    name, times = limiter({"input": 6.0, "step": 2.0})
    assert name == "input", f"the longest section is input here, not {name}"
    assert not math.isclose(times, 8 / 6), "divide by what is left when the section is gone, not by the section"
    assert not math.isclose(times, 3.0), "before: all sections, the longest included; 8 s become 2 s"
    assert math.isclose(times, 4.0), f"8 s become 2 s, which is 4 times as fast, not {times:.3g}"
    try:
        alone = limiter({"step": 3.0})[1]
    except ZeroDivisionError:
        raise AssertionError("with one section only it divides by zero: the answer there is infinity") from None
    assert alone == math.inf, "with one section only nothing is left: infinity"
    return "Ask this before you optimise anything."


class _Queue:
    """A device with a queue and a clock of its own: 2 s of older work, then calls of given durations."""

    def __init__(self, durations):
        self.durations, self.now, self.free_at, self.calls = durations, 0.0, 2.0, 0

    def call(self):
        duration = self.durations[min(self.calls, len(self.durations) - 1)]
        self.calls += 1
        self.now += 0.001  # to launch it
        self.free_at = max(self.free_at, self.now) + duration

    def synchronize(self):
        self.now = max(self.now, self.free_at)

    def clock(self):
        return self.now


def _time_with(time_call, durations):
    queue = _Queue(durations)
    return float(time_call(queue.call, queue.synchronize, queue.clock)), queue.calls


def _time_call(time_call):
    steady = 1.001  # 1 s of work, 1 ms to launch it
    got, calls = _time_with(time_call, [1.0])
    assert got > 0.01, "that is the time of the launch: wait before the second reading of the clock"
    assert math.isclose(got, steady), (
        f"a call takes {steady} s, you say {got:.3f} s: is older work in the queue billed to it? "
        "Wait before the first reading, too"
    )
    assert calls >= 6, f"it was called {calls} times: one call to warm up, then five readings"
    got, _ = _time_with(time_call, [1.0, 1.0, 1.0, 9.0, 1.0])
    assert math.isclose(got, steady), f"one reading of five was slow and moved your result to {got:.3f} s: the median"
    got, _ = _time_with(time_call, [9.0, 1.0, 1.2, 1.1, 1.3, 1.4])
    assert math.isclose(got, 1.201), f"the first call took 9 s and counts for nothing: 1.201 s, not {got:.3f} s"
    return "That is what helpers.timing does, and it states threads and spread as well."


CHECKS = {"4.1": _padding_of, "4.2": _limiter, "4.3": _time_call}
