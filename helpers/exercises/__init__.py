"""Exercises: one call that says what is right, what is wrong about an answer, or that it is still open."""

import importlib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_HELPERS = Path(__file__).resolve().parents[1]
_results: dict[str, str] = {}


class Unsolved(Exception):
    """The answer, or what it returns, is still None."""


def check(name: str, answer: Any) -> None:
    """Judge the answer to exercise `name` ("1.2") and print the verdict; never raises over an answer.

    An answer is a value or a function; None, or a function that returns None when it is first called, is still open.
    """
    module = importlib.import_module(f"helpers.exercises.notebook_{int(name.split('.')[0]):02}")
    judge = module.CHECKS[name]
    try:
        praise = judge(_given(answer))
        _say(name, "passed", f"✓ Exercise {name} is right. {praise}")
    except Unsolved:
        _say(name, "open", f"○ Exercise {name} is open: write your answer above, run that cell, then this one.")
    except AssertionError as fault:
        _say(name, "wrong", f"✗ Exercise {name} is not right yet: {fault}")
    except Exception as error:  # whatever the answer raises is the answer's, and is shown
        _say(name, "wrong", f"✗ Exercise {name} raised {type(error).__name__}: {error}{_line_of_answer(error)}")


def results() -> dict[str, str]:
    """Return the verdict of every exercise checked so far: passed, open or wrong."""
    return dict(_results)


def _say(name: str, verdict: str, text: str) -> None:
    _results[name] = verdict
    print(text)


def _line_of_answer(error: Exception) -> str:
    """Say in which line of the answer an error arose; nothing where it arose only in the check."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "site-packages" not in f.filename and not f.filename.startswith(str(_HELPERS))]
    return f" (line {own[-1].lineno} of your cell: {own[-1].line or own[-1].name})" if own else ""


def _given(answer: Any) -> Any:
    if answer is None or answer is Ellipsis:
        raise Unsolved
    return _checked(answer) if callable(answer) else answer


def _checked(function: Callable) -> Callable:
    answered = False

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal answered
        result = function(*args, **kwargs)
        if result is None and not answered:
            raise Unsolved
        assert result is not None, "it returns None in some case: is there a return in every branch?"
        answered = True
        return result

    return call
