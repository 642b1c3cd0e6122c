"""Every exercise, both ways: the published solution passes; the stub is open; each typical mistake is named.

Only a notebook's setup cell is run besides: the checks need nothing of the heavy cells.
"""

import contextlib
import io
import re

import pytest
from wrong_answers import WRONG_ANSWERS

from helpers.exercises import check, results
from notebooks import NOTEBOOKS, cells, exercises, tags

ALL = {exercise.name: (path, exercise) for path in NOTEBOOKS for exercise in exercises(path)}


def run(name, answer):
    """Run the setup, an answer and the check; return the verdict and what was printed."""
    path, exercise = ALL[name]
    setup = [cell.source for cell in cells(path) if "setup" in tags(cell)]
    assert len(setup) == 1, f"{path.name} needs one cell tagged setup"
    space, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(setup[0], space)  # noqa: S102
        exec(answer, space)  # noqa: S102
        printed.truncate(0)
        exec(exercise.check, space)  # noqa: S102
    return results()[name], printed.getvalue().strip("\0")


@pytest.mark.parametrize("name", ALL)
def test_the_published_solution_passes(name):
    verdict, said = run(name, ALL[name][1].solution)
    assert (verdict, said[:1]) == ("passed", "✓"), said


@pytest.mark.parametrize("name", ALL)
def test_the_stub_is_open_and_no_more(name):
    verdict, said = run(name, ALL[name][1].stub)
    assert (verdict, said[:1]) == ("open", "○"), said


@pytest.mark.parametrize(
    ("name", "answer", "remark"),
    [(name, *wrong) for name, answers in WRONG_ANSWERS.items() for wrong in answers],
    ids=lambda value: value if re.fullmatch(r"[\d.]+", value) else "",
)
def test_a_typical_mistake_is_met_with_what_is_wrong_about_it(name, answer, remark):
    verdict, said = run(name, answer)
    assert (verdict, said[:1]) == ("wrong", "✗"), said
    assert remark in said


def test_every_exercise_has_two_typical_mistakes_or_more():
    assert set(WRONG_ANSWERS) == set(ALL)
    assert all(len(answers) >= 2 for answers in WRONG_ANSWERS.values())


def test_the_checks_and_the_exercises_are_the_same_set():
    import importlib

    for path in NOTEBOOKS:
        module = importlib.import_module(f"helpers.exercises.notebook_{path.name[:2]}")
        assert list(module.CHECKS) == [exercise.name for exercise in exercises(path)]


def test_an_answer_that_raises_is_shown_with_its_own_line(capsys):
    def last_real(out, lengths):
        return out[len(lengths) + 10]

    check("3.1", last_real)
    out = capsys.readouterr().out
    assert "raised IndexError" in out
    assert "of your cell: return out[len(lengths) + 10])" in out


def test_an_answer_that_only_the_check_stumbles_over_is_shown_without_a_line(capsys):
    check("3.3", "no number")
    out = capsys.readouterr().out
    assert "raised ValueError" in out
    assert "line" not in out


@pytest.mark.parametrize("answer", [None, ..., lambda *_: None])
def test_no_answer_is_open_and_not_wrong(answer, capsys):
    check("3.1", answer)
    assert capsys.readouterr().out.startswith("○")


def test_an_exercise_that_does_not_exist_is_an_error():
    with pytest.raises(KeyError, match=r"3\.99"):
        check("3.99", 1)
