"""What this machine has, what is missing, why that matters and what to do."""

import importlib.metadata
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from typing import Literal

PACKAGE = "fast-rnns-in-pytorch"
GIBIBYTE = 2**30


@dataclass(frozen=True)
class Check:
    """One part of the machine. `missing` means that the course cannot run without it; a `note` limits a notebook."""

    part: str
    status: Literal["ok", "note", "missing"]
    found: str
    remedy: str = ""


def examine() -> list[Check]:
    """Look at all parts; one that cannot even be looked at is missing, and the others are said all the same."""
    parts = {"Python": _python, "packages": _packages, "memory": _room, "shared memory": _shared_memory}
    parts |= {"texts": _texts, "torch": _torch, "C++ compiler": _compiler}
    parts |= {"processor": _threads, "accelerator": _accelerator}
    checks = []
    for part, look in parts.items():
        try:
            checks.append(look())
        except Exception as error:  # a broken installation raises what it likes
            remedy = "install again: pip install --force-reinstall -r requirements.txt"
            checks.append(Check(part, "missing", f"{type(error).__name__}: {error}", remedy))
    return checks


def _python() -> Check:
    fine = sys.version_info >= (3, 11)
    found = f"{platform.python_version()} on {platform.system()} ({platform.machine()})"
    return Check("Python", "ok" if fine else "missing", found, "" if fine else "install Python 3.11 or later")


def _packages() -> Check:
    """Compare what is installed with the ranges that the project declares."""
    from packaging.requirements import Requirement

    try:
        declared = [Requirement(line) for line in importlib.metadata.requires(PACKAGE) or []]
    except importlib.metadata.PackageNotFoundError:
        return Check("packages", "missing", "the course itself is not installed", "pip install -r requirements.txt")
    faults = []
    for requirement in declared:
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            faults.append(f"no {requirement.name}")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            faults.append(f"{requirement.name} {version} is outside {requirement.specifier}")
    if faults:
        return Check("packages", "missing", "; ".join(faults), "pip install -r requirements.txt")
    return Check("packages", "ok", f"all {len(declared)} that the course needs")


def _room() -> Check:
    import psutil

    memory = psutil.virtual_memory()
    disk = shutil.disk_usage(os.getcwd())
    found = (
        f"{memory.total / GIBIBYTE:.0f} GiB, ≈{memory.available / GIBIBYTE:.0f} GiB free; "
        f"on the disk ≈{disk.free / GIBIBYTE:.0f} GiB free"
    )
    if memory.available < 2 * GIBIBYTE:
        return Check("memory", "note", found, "close other programs: the larger notebooks want 2 GiB")
    if disk.free < GIBIBYTE:
        return Check("memory", "note", found, "make room on the disk: checkpoints and data sets want 1 GiB")
    return Check("memory", "ok", found)


def _shared_memory() -> Check:
    if not os.path.isdir("/dev/shm"):  # noqa: S108
        return Check("shared memory", "ok", "not limited on this system")
    size = shutil.disk_usage("/dev/shm").total  # noqa: S108
    if size < 0.25 * GIBIBYTE:
        found = f"{size / 2**20:.0f} MiB in /dev/shm"
        return Check("shared memory", "note", found, "workers may fail: start the container with --shm-size=1g")
    return Check("shared memory", "ok", f"{size / GIBIBYTE:.1f} GiB in /dev/shm")


def _compiler() -> Check:
    from helpers.compiling import compiler_fault

    if fault := compiler_fault():
        return Check("C++ compiler", "note", fault, "torch.compile is skipped; all else runs")
    return Check("C++ compiler", "ok", "one that torch.compile can use")


def _texts() -> Check:
    from helpers.corpora import DATA, CorpusError, read_dialogues, read_headlines

    try:
        headlines = read_headlines(DATA / "headlines.tsv")
        dialogues = read_dialogues(DATA / "dialogues.txt")
    except CorpusError as error:
        return Check("texts", "missing", str(error), "get the data folder again: git checkout -- data")
    found = f"{len(headlines.examples)} headlines, {len(dialogues.examples)} dialogues"
    faults = headlines.rejected + dialogues.rejected
    if faults:
        return Check("texts", "missing", f"{found}, {len(faults)} lines damaged", "git checkout -- data")
    return Check("texts", "ok", found)


def _torch() -> Check:
    """Run one training step of a small LSTM."""
    import torch

    torch.nn.LSTM(4, 4)(torch.ones(3, 2, 4))[0].sum().backward()
    return Check("torch", "ok", f"{torch.__version__}, a training step works")


def _threads() -> Check:
    import torch

    cores = os.cpu_count() or 1
    threads = torch.get_num_threads()
    found = f"{cores} cores, torch uses {threads} threads"
    if threads > cores:
        return Check("processor", "note", found, f"threads wait for each other: set OMP_NUM_THREADS={cores}")
    return Check("processor", "ok", found)


def _accelerator() -> Check:
    from helpers.device import device_name, find_accelerator

    device, fault = find_accelerator()
    if device is not None:
        return Check("accelerator", "ok", f"{device} ({device_name(device)})")
    if fault:
        return Check("accelerator", "note", fault, "everything runs on the CPU until then")
    return Check("accelerator", "note", "none", "everything runs on the CPU")
