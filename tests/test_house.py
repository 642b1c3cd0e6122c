"""The house stands as designed: imports go downwards, rooms stay small, and the project speaks of itself alone."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = [  # a room may import from its own floor's left neighbours and from all floors below
    ["text", "device", "distributed", "launching", "compiling", "precision", "recurrent"],
    ["timing", "corpora"],
    ["profiling"],
    ["batching", "sequences"],
    ["models", "language", "generation"],
    ["checkpoints"],
    ["training", "recipes"],
    ["classifier", "workers"],
    ["studies"],
    ["claims", "minutes", "figures"],
    ["doctor", "exercises"],
    ["__main__"],
]
ORDER = [room for floor in FLOORS for room in floor]
SOURCES = sorted((ROOT / "helpers").rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "helpers").parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written out from `helpers`"
            names |= {f"helpers.{alias.name}" for alias in node.names} if node.module == "helpers" else {node.module}
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_room_imports_only_downwards(path):
    room = room_of(path)
    if room == "__init__":
        assert not imports_of(path)
        return
    for name in imports_of(path):
        assert name.split(".")[0] not in ("tests", "notebooks"), name
        if name.startswith("helpers."):
            other = name.split(".")[1]
            assert other == room or ORDER.index(other) < ORDER.index(room), f"{room} imports {other}"


def test_every_room_has_its_place_in_the_order():
    assert {room_of(path) for path in SOURCES} == {"__init__", *ORDER}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_room_stays_under_300_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize(
    ("room", "unwanted"),
    [
        ("helpers", ("torch", "matplotlib", "pandas", "sklearn")),
        ("helpers.training", ("matplotlib", "ipywidgets.widgets", "sklearn")),
        ("helpers.doctor", ("torch", "matplotlib")),
    ],
)
def test_an_import_brings_in_no_more_than_it_needs(room, unwanted):
    program = f"import sys, {room}; print([name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_public_functions_have_docstrings_and_type_hints():
    for path in SOURCES:
        if "exercises" in path.parts and path.name.startswith("notebook_"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                inner = node.col_offset > 0 and not ast.get_docstring(node)
                where = f"{path.name}:{node.lineno} {node.name}"
                assert inner or ast.get_docstring(node), f"{where} has no docstring"
                assert node.returns is not None, f"{where} has no return type"


def test_the_project_speaks_of_itself_alone():
    """No home folder, no package registry's host name in what is shipped."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("needs a git checkout to know what is shipped")
    traces = re.compile(r"/(?:root|home/\w+|Users/\w+)/|pythonhosted|pypi\.org")
    for name in listed.stdout.splitlines():
        if name.endswith((".py", ".md", ".txt", ".toml", ".ipynb", ".json")) and name != "tests/test_house.py":
            assert not traces.search((ROOT / name).read_text(encoding="utf-8")), name


def test_nothing_depends_on_torchtext():
    for name in ("pyproject.toml", "requirements.txt", "requirements-dev.txt"):
        assert "torchtext" not in (ROOT / name).read_text(encoding="utf-8")


def test_no_data_set_is_read_with_pickle():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert "weights_only=False" not in text
        assert "pickle.load" not in text
