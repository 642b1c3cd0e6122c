"""The form of a notebook, and that what is stored came out of a run of what is written."""

import ast
import json
import math
import re
import tempfile
from pathlib import Path

import pytest
from regenerate import source_mark

from helpers.claims import all_claims
from helpers.minutes import RECORD
from notebooks import NOTEBOOKS, ROOT, cells, exercises, tags

ALL = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(path):
    return [cell for cell in cells(path) if cell.cell_type == "code"]


def prose(path):
    return [cell for cell in cells(path) if cell.cell_type == "markdown"]


def test_the_notebooks_are_there_and_numbered_without_a_gap():
    assert len(NOTEBOOKS) >= 4
    assert [int(path.name[:2]) for path in NOTEBOOKS] == list(range(len(NOTEBOOKS)))


@ALL
def test_every_cell_was_run_in_order_and_not_changed_since(path):
    for count, cell in enumerate(code(path), start=1):
        assert cell.execution_count == count, f"cell {cell.id} was stored without a run: make notebooks"
        assert cell.metadata.get("ran") == source_mark(cell.source), f"cell {cell.id} was changed: make notebooks"


@ALL
def test_no_cell_shows_an_error_a_warning_or_a_progress_bar(path):
    for cell in code(path):
        for output in cell.outputs:
            assert output.output_type != "error", cell.id
            assert output.get("name") != "stderr", f"{cell.id}: {output.text[:200]}"


@ALL
def test_a_notebook_names_its_device_first(path):
    first = code(path)[0]
    assert "setup" in tags(first)
    assert first.outputs[0].text.startswith("device: ")


@ALL
def test_code_cells_have_at_most_25_lines_and_prose_cells_120_words(path):
    for cell in code(path):
        assert cell.source.count("\n") < 25, cell.id
    for cell in prose(path):
        assert len(cell.source.split()) <= 120, cell.id


@ALL
def test_it_opens_and_closes_as_all_do(path):
    first, last = prose(path)[0].source, prose(path)[-1].source
    assert first.startswith(f"# {int(path.name[:2])} · ")
    for row in ("**time**", "**needs**", "**you will be able to**"):
        assert row in first
    assert "**Next:**" in last
    assert "**References:**" in last
    takeaways = prose(path)[-2].source
    assert takeaways.startswith("## Take away")
    assert 3 <= takeaways.count("\n- ") <= 5


@ALL
def test_it_has_two_to_four_exercises_with_stars_minutes_and_a_hint(path):
    headings = [cell.source for cell in prose(path) if cell.source.startswith("### Exercise")]
    assert 2 <= len(headings) == len(exercises(path)) <= 4
    for heading, exercise in zip(headings, exercises(path), strict=True):
        assert re.match(rf"### Exercise {exercise.name} · .+ [★☆]{{3}} · \d+ min\n", heading), heading[:80]
        assert "<details><summary>Hint</summary>" in heading


def reading_minutes(path):
    """200 words a minute for prose, 10 lines a minute for code, and the exercises' own minutes; to the next five."""
    words = sum(len(cell.source.split()) for cell in prose(path) if "solution" not in tags(cell))
    lines = sum(cell.source.count("\n") + 1 for cell in code(path))
    exercise = sum(int(n) for cell in prose(path) for n in re.findall(r"### Exercise .* · (\d+) min", cell.source))
    return 5 * math.ceil((words / 200 + lines / 10 + exercise) / 5)


@ALL
def test_its_minutes_are_counted_and_measured(path):
    read, run = map(
        int, re.search(r"(\d+) min to read and solve; the cells run in about (\d+) min", prose(path)[0].source).groups()
    )
    measured = json.loads(RECORD.read_text(encoding="utf-8"))["notebook_seconds"][path.stem]
    assert read == reading_minutes(path)
    assert run == math.ceil(measured / 60)
    assert measured < 180


@ALL
def test_every_claim_of_a_notebook_is_judged_in_it(path):
    mine = {claim.id for claim in all_claims().values() if path.name[:2] in claim.notebooks}
    judged = set(re.findall(r'judge\(\s*"([\w.-]+)"', "\n".join(cell.source for cell in code(path))))
    assert judged == mine


@ALL
def test_nothing_in_it_renders_only_on_the_machine_where_it_was_made(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    text = path.read_text(encoding="utf-8")
    for trace in (str(ROOT), str(Path.home()), tempfile.gettempdir()):
        assert trace not in text, trace


@ALL
def test_an_expected_error_is_asserted_and_not_only_caught(path):
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Try) and "except RuntimeError" in cell.source and "def " not in cell.source:
                assert "raise AssertionError" in cell.source or "locate(" in cell.source, cell.id


@ALL
def test_links_to_other_notebooks_lead_somewhere(path):
    for cell in prose(path):
        for target in re.findall(r"\]\(([\w.]+\.ipynb)\)", cell.source):
            assert (path.parent / target).exists(), target
