"""What several tests need to know about the notebooks."""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details><summary>Solution</summary>.*?```python\n(.*?)```.*?</details>", re.DOTALL)


class Exercise(NamedTuple):
    """An exercise's name, the cell for the answer as it is published, the check's, and the published solution."""

    name: str
    stub: str
    check: str
    solution: str


def cells(path: Path) -> list[nbformat.NotebookNode]:
    return nbformat.read(path, as_version=4).cells


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def exercises(path: Path) -> list[Exercise]:
    """Return a notebook's exercises; each is a stub, a check and a solution in this order."""
    found, parts = [], []
    order = ["exercise", "exercise-check", "solution"]
    for cell in cells(path):
        (kind,) = [tag for tag in tags(cell) if tag in order] or [None]
        if kind is None:
            continue
        assert kind == order[len(parts)], f"{path.name}: a cell tagged {kind} out of its order"
        parts.append(cell.source)
        if kind == "solution":
            stub, check, solution = parts
            name = re.search(r'check\("([\d.]+)"', check)[1]
            found.append(Exercise(name, stub, check, SOLUTION.search(solution)[1]))
            parts = []
    assert not parts, f"{path.name}: an exercise without a solution"
    return found
