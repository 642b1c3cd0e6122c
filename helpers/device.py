"""Hardware: which device does the work, and how much of its memory is in use."""

import contextlib
import math
import os
import platform
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

MEBIBYTE = 2**20
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes a line a start into the notebook


@dataclass(frozen=True)
class Memory:
    """Memory in mebibytes (MiB), and what was counted."""

    allocated: float  # bytes of live tensors (device), or the resident set of the process (CPU)
    reserved: float  # what the caching allocator holds from the driver (device); equals allocated on a CPU
    peak: float  # the highest value of `allocated` since the process, or the last reset, began
    counted: str


class PeakMemory:
    """What `peak_memory` fills in when its block ends: MiB above the block's start, at the peak and at the end."""

    mebibytes: float = float("nan")
    kept_mebibytes: float = float("nan")
    counted: str = ""


def choose_device(name: str | None = None) -> torch.device:
    """Return the device to work on, and print one line that says which and why.

    `name` is a device such as "cpu" or "cuda:1"; without one it is the accelerator that works, else the CPU.
    Only what `CUDA_VISIBLE_DEVICES` leaves visible is considered. A GPU that is there but cannot be used
    is named in the line. Raises ValueError where a device is asked for that does not work.
    """
    fault = None
    if name is None:
        device, fault = find_accelerator()
        device = device or torch.device("cpu")
    else:
        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise ValueError(f"{name!r} is no device: write cpu, cuda, cuda:1 or mps") from error
        fault = _why_unusable(device)
        if fault is not None:
            raise ValueError(f"device {name} cannot be used: {fault}")
    print(f"device: {device} ({device_name(device)})" + (f"; {fault}" if fault else ""))
    return device


def find_accelerator() -> tuple[torch.device | None, str | None]:
    """Return the accelerator that works, or None, and in the second place why a GPU that is here is not used."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # an old driver is reported as a warning
        device = torch.accelerator.current_accelerator(check_available=True)
    if device is None:
        return None, _why_no_gpu([str(warning.message) for warning in caught])
    fault = _why_unusable(device)
    return (None, fault) if fault else (device, None)


def device_name(device: torch.device) -> str:
    """Return the hardware's name; on a CPU with the number of threads that torch uses."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type != "cpu":
        return device.type
    return f"{_processor()}, {torch.get_num_threads()} threads"


def to_device(batch: Any, device: torch.device | str, non_blocking: bool = False) -> Any:
    """Return `batch` (a tensor, or tuples, lists and dicts of tensors) on `device`.

    A field named `lengths` stays on the CPU, where `pack_padded_sequence` wants it
    (https://github.com/pytorch/pytorch/issues/43227). `non_blocking` is used only towards a CUDA device: a copy to
    the CPU that does not wait gives stale numbers (https://github.com/pytorch/pytorch/issues/86264).
    """
    device = torch.device(device)
    non_blocking = non_blocking and device.type == "cuda"

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(device, non_blocking=non_blocking)
        if isinstance(value, tuple) and hasattr(value, "_fields"):  # a NamedTuple
            return type(value)(**{k: v if k == "lengths" else move(v) for k, v in value._asdict().items()})
        if isinstance(value, tuple | list):
            return type(value)(move(v) for v in value)
        if isinstance(value, Mapping):
            return {k: v if k == "lengths" else move(v) for k, v in value.items()}
        return value

    return move(batch)


def memory(device: torch.device | str = "cpu") -> Memory:
    """Return the memory in use now and at its peak, in MiB.

    On an accelerator these are the counts of PyTorch's allocator; the driver's own context is in none of them.
    On a CPU it is the resident set of the whole process, Python and libraries included.
    """
    device = torch.device(device)
    if device.type == "cpu":
        resident = psutil.Process().memory_info().rss / MEBIBYTE
        return Memory(resident, resident, max(resident, _peak_resident()), "resident set of the process")
    if device.type == "mps":
        allocated, reserved = torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()
        return Memory(allocated / MEBIBYTE, reserved / MEBIBYTE, math.nan, "PyTorch's allocator; MPS keeps no peak")
    counts = (
        torch.accelerator.memory_allocated(device),
        torch.accelerator.memory_reserved(device),
        torch.accelerator.max_memory_allocated(device),
    )
    return Memory(*(count / MEBIBYTE for count in counts), "PyTorch's allocator on the device")


@contextlib.contextmanager
def peak_memory(device: torch.device | str = "cpu") -> Iterator[PeakMemory]:
    """Measure how far the memory of tensors rises inside the block, in MiB above its start.

    On an accelerator the allocator's peak is reset first; MPS keeps none, and both values are NaN there. On a CPU
    every allocation inside the block is read from `torch.profiler`, which slows it down: do not time it as well.
    """
    device, peak = torch.device(device), PeakMemory()
    if device.type == "mps":
        peak.counted = "nothing: MPS keeps no peak"
        yield peak
        return
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
        torch.accelerator.reset_peak_memory_stats(device)
        start = torch.accelerator.memory_allocated(device)
        yield peak
        torch.accelerator.synchronize(device)
        peak.mebibytes = (torch.accelerator.max_memory_allocated(device) - start) / MEBIBYTE
        peak.kept_mebibytes = (torch.accelerator.memory_allocated(device) - start) / MEBIBYTE
        peak.counted = "PyTorch's allocator on the device"
        return
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
    with _without_lines(b"allocated before the profiling started"), profiler as profile:
        yield peak
    level = highest = 0
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        level += event.nbytes()
        highest = max(highest, level)
    peak.mebibytes, peak.kept_mebibytes = highest / MEBIBYTE, level / MEBIBYTE
    peak.counted = "tensors on the CPU, from the profiler"


@contextlib.contextmanager
def _without_lines(fragment: bytes) -> Iterator[None]:
    """Hold back what compiled code writes to standard error, and pass on all lines but those with `fragment`.

    The profiler warns of every tensor that is older than itself and freed inside; that is what is meant to happen.
    """
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            for line in held:
                if fragment not in line:
                    os.write(2, line)


def _why_unusable(device: torch.device) -> str | None:
    """Return why one small sum on `device` fails, or None if it works."""
    try:
        torch.ones(2, device=device).sum().item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch raises all three here
        return f"{str(error).splitlines()[0]} ({_REMEDY})"
    return None


_REMEDY = "update the driver, or choose the build of PyTorch that fits it at pytorch.org"


def _why_no_gpu(messages: list[str]) -> str | None:
    """Say in one line why an NVIDIA GPU that this machine has is not available; None where it has none."""
    if not (Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi")):
        return None
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return "a GPU is hidden by CUDA_VISIBLE_DEVICES"
    if torch.version.cuda is None:
        return f"a GPU is here, but this PyTorch is built without CUDA ({_REMEDY})"
    said = messages[0].splitlines()[0] if messages else "the driver does not answer"
    return f"a GPU is here, but cannot be used: {said} ({_REMEDY})"


def _processor() -> str:
    """Return the processor's model name, as the operating system gives it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _peak_resident() -> float:
    """Return the highest resident set of this process so far, in MiB; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows: psutil has it under another name
        return getattr(psutil.Process().memory_info(), "peak_wset", 0) / MEBIBYTE
    unit = 1 if platform.system() == "Darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEBIBYTE
