"""torch.compile with its eyes open: whether it can run here, and how many graphs it made."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch


def compiler_fault() -> str | None:
    """Return why torch.compile cannot build code for this CPU, or None where it can.

    It needs a C++ compiler, and a path to PyTorch without a space: it hands that path unquoted to the linker.
    """
    names = [os.environ.get("CXX"), "cl"] if sys.platform == "win32" else [os.environ.get("CXX"), "g++", "clang++"]
    if " " in str(Path(torch.__file__).parent):
        return (
            "PyTorch lies in a folder with a space in its name, and its compiler does not quote it (move the project)"
        )
    if any(shutil.which(name) for name in names if name):
        return None
    return "no C++ compiler is on the path (install g++, or on Windows Visual Studio's cl)"


def compiled(call: Callable, **options: object) -> Callable:
    """Return `torch.compile(call, **options)`; where no compiler is here, say so and return `call` as it is."""
    if fault := compiler_fault():
        print(f"not compiled, runs eager: {fault}")
        return call
    return torch.compile(call, **options)


class GraphCount:
    """What `count_graphs` fills in when its block ends."""

    graphs: int = 0


@contextlib.contextmanager
def count_graphs() -> Iterator[GraphCount]:
    """Count the graphs that torch.compile makes inside the block; what was compiled before is forgotten.

    None where something was wrapped in torch.compile means that it ran eager, in silence.
    """
    from torch._dynamo.utils import counters  # takes a second or two, and only here it is needed

    torch.compiler.reset()
    before = counters["stats"]["unique_graphs"]
    count = GraphCount()
    try:
        yield count
    finally:
        count.graphs = counters["stats"]["unique_graphs"] - before
