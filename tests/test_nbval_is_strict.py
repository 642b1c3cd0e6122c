"""The notebook tests can fail: each way of breaking a notebook is tried, and each is caught."""

import copy
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from regenerate import METADATA, comparable

ROOT = Path(__file__).resolve().parents[1]


def stream(text):
    return [new_output("stream", name="stdout", text=text)]


DEVICE = "device: cuda:0 (a large GPU)\n"
CASES = {  # name: source, execution count, stored outputs, tags, what must come of it
    "unknown_magic": ("%notmagic", 1, [], [], "failed"),
    "expected_error_missing": ("x = 1", 1, [], ["raises-exception"], "failed"),
    "stored_without_a_run": ("print('x')", None, [], [], "failed"),
    "kernel_dies": ("import os; os._exit(1)", 1, [], [], "failed"),
    "error": ("1 / 0", 1, [], [], "failed"),
    "other_word": ("print('mean')", 1, stream("peak\n"), [], "failed"),
    "other_number": ("print('12.0 MiB')", 1, stream("12.1 MiB\n"), [], "failed"),
    "other_label_of_a_measured_value": ("print('peak ≈3 MiB')", 1, stream("mean ≈3 MiB\n"), [], "failed"),
    "other_unit_behind_a_measured_value": ("print('≈3 ms of 4')", 1, stream("≈3 ms of 5\n"), [], "failed"),
    "row_missing": ("print('a')", 1, stream("a\nb\n"), [], "failed"),
    "output_missing": ("print('a')", 1, [], [], "failed"),
    "other_measured_value": ("print('≈12.3 ms, ≈3.4 ×')", 1, stream("≈1.1 µs, ≈0.99 ×\n"), [], "passed"),
    "other_device": ("print('device: cpu (small)')", 1, stream(DEVICE), [], "passed"),
    "semicolon": ("1 + 1;", 1, [], [], "passed"),
    "exempt": ("print('a')", 1, stream("b\n"), ["nbval-ignore-output"], "passed"),
    "child_output": (
        "import subprocess, time\nsubprocess.run(['echo', 'hi'])\ntime.sleep(0.5);",
        1,
        stream("hi\n"),
        [],
        "passed",
    ),
}


def test_a_broken_cell_fails_and_a_sound_one_passes(tmp_path):
    for name, (source, count, outputs, tags, _) in CASES.items():
        cell = new_code_cell(source, execution_count=count, outputs=outputs, metadata={"tags": tags})
        nbformat.write(new_notebook(cells=[cell], metadata=METADATA), tmp_path / f"{name}.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "-v",
        "--color=no",
        str(tmp_path),
    ]
    done = subprocess.run([*command, "-c", str(ROOT / "pyproject.toml")], cwd=ROOT, capture_output=True, text=True)
    got = dict(re.findall(r"(\w+)\.ipynb::(?:ipynb::)?Cell 0 (PASSED|FAILED|SKIPPED)", done.stdout))
    assert {name: verdict.lower() for name, verdict in got.items()} == {n: case[-1] for n, case in CASES.items()}, (
        done.stdout
    )


def table(values):
    html = "<table>" + "".join(f"<td>{value}</td>" for value in values) + "</table>"
    plain = "  ".join(f"{value:>12}" for value in values)
    return [new_output("execute_result", data={"text/html": html, "text/plain": plain}, execution_count=1)]


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [
        (["≈9.8 ms", "3 repeats"], ["≈10.12 ms", "3 repeats"], True),
        (["≈9.8 ms", "3 repeats"], ["≈9.8 ms", "4 repeats"], False),
        (["≈1,204 tokens/s"], ["≈98.1 tokens/s"], True),
        (["≈50.4 %"], ["≈9 %"], True),
        (["50.4 %"], ["50.5 %"], False),
    ],
)
def test_tables_are_compared_without_their_measured_values(before, after, equal):
    assert (comparable(table(before)) == comparable(table(after))) == equal


def test_a_stream_is_compared_whole_however_it_came():
    parts = [*stream("a\n"), *stream("b\n")]
    assert comparable(parts) == comparable(stream("a\nb\n"))
    assert comparable(copy.deepcopy(parts)) != comparable(stream("a\n"))
