"""Checkpoints: written whole or not at all, read without running code from them."""

import contextlib
import io
import os
import pickle
import platform
import sys
import zipfile
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
    """Write weights, optimizer state, `facts` and versions to `path`; what was there before becomes `previous(path)`.

    The file is written beside its place and then moved there: whoever reads it, or whatever ends this process in
    between, finds an old one or the new one. `facts` and `state` hold plain values and tensors only.
    Raises OSError where the disk is full or the place cannot be written; the old files are untouched then.
    """
    content = {
        "model": plain_state(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "facts": facts,
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
        **state,
    }
    serialized = io.BytesIO()  # a disk that fills up under torch.save itself is a RuntimeError without a reason
    torch.save(content, serialized)
    with written_whole(path, keep=previous(path)) as file:
        file.write(serialized.getbuffer())


def previous(path: Path) -> Path:
    """Return where the last checkpoint but one is kept."""
    return path.with_name(f"{path.name}.previous")


def set_aside(path: Path) -> Path | None:
    """Move the checkpoints of an earlier run away from `path`, and return where they are now; None if there is none."""
    aside = path.with_name(f"{path.name}.earlier")
    moved = [place for place in (path, previous(path)) if place.exists()]
    if path in moved:
        path.replace(aside)
    if previous(path) in moved:
        previous(path).replace(previous(aside))
    return aside if moved else None


@contextlib.contextmanager
def written_whole(path: Path, keep: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file for writing that takes `path`'s place when the block ends well, and leaves it as it was if not.

    What was at `path` moves to `keep` then, if that is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")  # one name, so that what a killed process leaves is written over
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            os.replace(path, keep)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path, model: nn.Module, facts: dict[str, Any]) -> dict[str, Any] | None:
    """Return the content of `path`, or of `previous(path)` where that cannot be used; all tensors on the CPU.

    Nothing in the file is run (`weights_only=True`), and every byte is held against its checksum.
    None where neither file exists. Raises CheckpointError where none can be used: damaged, not of this model, or
    written with other `facts`. One that is refused for the other is named on stderr.
    """
    refusals = []
    for candidate in (path, previous(path)):
        if not candidate.exists():
            continue
        try:
            content = _read(candidate, model, facts)
        except CheckpointError as error:
            refusals.append(error)
            continue
        if candidate != path:
            reason = refusals[0] if refusals else f"{path}: missing"
            print(f"{reason}; {candidate} is used instead", file=sys.stderr, flush=True)
        return content
    if refusals:
        raise refusals[0]
    return None


def _read(path: Path, model: nn.Module, facts: dict[str, Any]) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # torch.load reads over a changed byte
        content = torch.load(path, map_location="cpu", weights_only=True)
        found = {name: tuple(weight.shape) for name, weight in plain_state(content["model"]).items()}
        written_with = {name: content["facts"].get(name) for name in facts}
    except (
        RuntimeError,
        EOFError,
        KeyError,
        TypeError,
        AttributeError,
        OSError,
        NotImplementedError,  # an archive that says it is encrypted, by a changed byte
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        raise CheckpointError(f"{path}: damaged, or no checkpoint of this course ({type(error).__name__})") from error
    if damaged is not None:
        raise CheckpointError(f"{path}: damaged, {damaged} in it is not what was written")
    for name, value in facts.items():
        if written_with[name] != value:
            raise CheckpointError(
                f"{path}: belongs to another run, {name} is {written_with[name]!r} there and {value!r} here; "
                "give the same settings, or another file"
            )
    wanted = {name: tuple(weight.shape) for name, weight in plain_state(model.state_dict()).items()}
    if different := sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name)):
        raise CheckpointError(f"{path}: does not fit this model in {', '.join(different)}")
    return content


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Read `path` as `read_checkpoint` does, load it into `model` (and `optimizer`), and return the whole content.

    Raises CheckpointError where there is no such file, too.
    """
    content = read_checkpoint(path, model, facts or {})
    if content is None:
        raise CheckpointError(f"{path}: no such checkpoint")
    restore(content, model, optimizer)
    return content


def restore(content: dict[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Load what `read_checkpoint` returned into `model` (and `optimizer`).

    Raises CheckpointError where the optimizer's state does not fit.
    """
    own = list(model.state_dict())  # a compiled or distributed model has longer names for the same weights
    names = dict(zip(plain_state(dict.fromkeys(own)), own, strict=True))
    model.load_state_dict({names[name]: value for name, value in plain_state(content["model"]).items()})
    if optimizer is not None:
        try:
            optimizer.load_state_dict(content["optimizer"])
        except (ValueError, KeyError) as error:
            raise CheckpointError(f"the checkpoint does not fit this optimizer: {error}") from error


def plain_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return weights under the model's own names, without what torch.compile (`_orig_mod.`) and DDP (`module.`) add."""
    plain = {name.replace("_orig_mod.", ""): value for name, value in state.items()}
    while plain and all(name.startswith("module.") for name in plain):
        plain = {name.removeprefix("module."): value for name, value in plain.items()}
    return plain
