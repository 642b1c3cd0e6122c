"""Checkpoints: written whole or not at all, read without running code from them."""

import contextlib
import os
import pickle
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import nn


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used: the message names the file, what is wrong and what to do."""


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, facts: dict[str, Any], **state: Any
) -> None:
    """Write weights, optimizer state, `facts` and versions to `path`.

    The file is written beside its place and then moved there in one step: whoever reads it, or whatever ends this
    process in between, finds the old one or the new one. `facts` and `state` hold plain values and tensors only.
    """
    content = {
        "model": plain_state(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "facts": facts,
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
        **state,
    }
    with written_whole(path) as file:
        torch.save(content, file)


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes `path`'s place when the block ends well, and leaves it as it was if not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Load `path` into `model` (and `optimizer`) and return the whole content, all on the CPU.

    Nothing in the file is run (`weights_only=True`). Raises CheckpointError where the file is missing or damaged,
    does not fit the model, or was written with other `facts`.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights, saved = plain_state(content["model"]), content["facts"]
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such checkpoint") from None
    except (RuntimeError, EOFError, KeyError, TypeError, OSError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"{path}: damaged, or no checkpoint of this course ({type(error).__name__})") from error
    for name, value in (facts or {}).items():
        if saved.get(name) != value:
            raise CheckpointError(
                f"{path}: belongs to another run, {name} is {saved.get(name)!r} there and {value!r} here; "
                "give the same settings, or another file"
            )
    own = list(model.state_dict())  # a compiled or distributed model has longer names for the same weights
    names = dict(zip(plain_state(dict.fromkeys(own)), own, strict=True))
    try:
        model.load_state_dict({names.get(name, name): value for name, value in weights.items()})
        if optimizer is not None:
            optimizer.load_state_dict(content["optimizer"])
    except (RuntimeError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: does not fit this model: {error}") from error
    return content


def plain_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return weights under the model's own names, without what torch.compile (`_orig_mod.`) and DDP (`module.`) add."""
    plain = {name.replace("_orig_mod.", ""): value for name, value in state.items()}
    while plain and all(name.startswith("module.") for name in plain):
        plain = {name.removeprefix("module."): value for name, value in plain.items()}
    return plain
