"""Run notebooks afresh and store their outputs so that a diff shows what changed and nothing else.

python tests/regenerate.py [--fresh] [--record] notebooks/*.ipynb

A notebook whose new outputs all equal the stored ones, measured values aside, keeps the stored ones; where a source or
an output has changed, all are stored anew, so that one run stands behind a notebook. --fresh always takes the new ones
(after a change of helpers/figures.py, say: pictures are not compared). --record writes how long each notebook took to
data/measurements/notebooks.json: on a quiet machine only.
"""

import argparse
import copy
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbval.plugin import coalesce_streams, get_sanitize_patterns

from notebooks import NOTEBOOKS

PATTERNS = dict(get_sanitize_patterns(Path(__file__).with_name("nbval_sanitize.cfg").read_text(encoding="utf-8")))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"  # holds a random name


def source_mark(source: str) -> str:
    """Return what is stored with a cell when it is run: a few digits that change with its source."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def comparable(outputs: list) -> list:
    """Return outputs without what may differ from run to run."""

    def clean(text: str) -> str:
        for pattern, replacement in PATTERNS.items():
            text = re.sub(pattern, replacement, text)
        return text

    result = []
    for output in coalesce_streams(copy.deepcopy(outputs)):
        if output.output_type == "stream":
            result.append((output.name, clean(output.text)))
        else:
            data = output.get("data", {})
            result.append(
                sorted((k, clean(v) if k.startswith("text/") else "") for k, v in data.items() if k != WIDGET)
            )
    return result


def is_unchanged(cell: nbformat.NotebookNode, old: nbformat.NotebookNode) -> bool:
    """Tell whether a cell was stored from this source, and gives the same again where it is compared at all."""
    exempt = "nbval-ignore-output" in cell.metadata.get("tags", [])
    same = exempt or comparable(cell.outputs) == comparable(old.outputs)
    return same and old.metadata.get("ran") == source_mark(cell.source)


def run(path: Path) -> tuple[nbformat.NotebookNode, float]:
    """Run a notebook in a fresh kernel and return it with the seconds that took; an error in a cell is raised."""
    os.environ["TQDM_DISABLE"] = "1"  # no progress bars in stored outputs
    notebook = nbformat.read(path, as_version=4)
    start = time.perf_counter()
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False, resources=resources).execute()
    return notebook, time.perf_counter() - start


def regenerate(path: Path, fresh: bool) -> float:
    """Run one notebook, store it, and return the seconds that the run took."""
    stored = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    notebook, seconds = run(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    pairs = list(zip(cells, stored, strict=True))
    keep = not fresh and all(is_unchanged(cell, old) for cell, old in pairs)
    for count, (cell, old) in enumerate(pairs, start=1):
        mark = source_mark(cell.source)
        cell.outputs = old.outputs if keep else coalesce_streams(cell.outputs)
        cell.execution_count = count
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"ran": mark, **({"tags": tags} if tags else {})})
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.validate(notebook)
    text = nbformat.writes(notebook) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")
        print(f"stored   {path} ({seconds:.0f} s)")
    else:
        print(f"the same {path} ({seconds:.0f} s)")
    return seconds


def main() -> None:
    """Regenerate the notebooks that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", type=Path, nargs="+")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.record and {path.resolve() for path in options.notebooks} != set(NOTEBOOKS):
        parser.error("--record takes the seconds of all notebooks, from one run")
    seconds = {path.stem: round(regenerate(path, options.fresh), 1) for path in options.notebooks}
    if options.record:
        from helpers.minutes import RECORD, calibration

        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps({**calibration(), "notebook_seconds": seconds}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
