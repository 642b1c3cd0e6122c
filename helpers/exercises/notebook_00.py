"""Checks of the exercises in 00 · Start here."""

import math


def _tokens_per_second(answer):
    assert answer != 1600, "those are sequences a second: each has 50 tokens"
    assert answer != 640_000, "those are all tokens: divide by the seconds"
    assert answer != 25, "those are steps a second: count the tokens of a step"
    assert answer == 80_000, f"it should be 64 × 50 × 200 / 8, and that is not {answer}"
    return "That is the measure of this course."


def _break_even(steps):
    assert steps(10, 3) != 3, "after 3 steps of 3 s it still owes 1 s: round up"
    assert steps(10, 3) == 4, f"a debt of 10 s at 3 s a step is paid after 4 steps, not {steps(10, 3)}"
    assert isinstance(steps(8, 2), int), "steps are whole numbers: use math.ceil"
    for gain in (0, -1):
        try:
            never = steps(5, gain)
        except ZeroDivisionError:
            raise AssertionError("a gain of 0 divides by zero: return math.inf there") from None
        assert never == math.inf, f"with a gain of {gain} it never pays: return math.inf, not {never}"
    return "helpers.timing.break_even asks it of two measurements, and counts the first call as well."


CHECKS = {"0.1": _tokens_per_second, "0.2": _break_even}
