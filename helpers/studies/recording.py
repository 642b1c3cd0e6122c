"""Measurements as a file: where they were made, what is done so far, and what is left for another time."""

import dataclasses
import datetime
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from helpers.checkpoints import written_whole
from helpers.corpora.sources import DATA
from helpers.device import device_name
from helpers.studies.summary import summary
from helpers.timing import Measurement, Ratio

MEASUREMENTS = DATA / "measurements"


class BudgetSpentError(Exception):
    """The seconds given for measuring are over; what is done is in the file."""


class RecordError(ValueError):
    """A file of measurements that cannot be used, with what to do."""


@dataclasses.dataclass
class Recorder:
    """A file that grows part by part, so that a stopped run loses at most the part that it was in."""

    path: Path
    record: dict[str, Any]
    deadline: float = float("inf")

    @classmethod
    def start(cls, path: Path, device: torch.device, *, repeats: int, seconds: float, resume: bool) -> "Recorder":
        """Begin a file, or go on with the one that is there; it must come from this machine and these settings.

        Raises RecordError where it does not, and where a file is there and `resume` was not asked for.
        """
        here = provenance(device, repeats)
        if path.exists():
            if not resume:
                raise RecordError(f"{path} is there already: give --resume to go on with it, or another --out")
            record = read_record(path)
            for key in ("machine", "device", "torch", "python", "cuda", "threads", "repeats"):
                if record["provenance"].get(key) != here[key]:
                    raise RecordError(
                        f"{path} was made with {key} {record['provenance'].get(key)!r}, here it is {here[key]!r}: "
                        "give another --out"
                    )
        else:
            record = {"provenance": here, "studies": {}, "summary": {}}
        recorder = cls(path, record, time.monotonic() + seconds)
        recorder.write()
        return recorder

    def part(self, study: str, name: str, work: Callable[[], Any], *, may_fail: bool = False) -> Any:
        """Return the result of `work()`, from the file where it is there; a new one is written at once.

        A result is plain JSON, None where a number is not finite. With `may_fail` an error becomes
        {"status": "failed", "reason": …}. A part that failed is tried again.
        Raises BudgetSpentError where there is no time to begin it.
        """
        parts = self.record["studies"].setdefault(study, {})
        if name in parts and not (isinstance(parts[name], dict) and parts[name].get("status") == "failed"):
            return parts[name]
        if time.monotonic() > self.deadline:
            raise BudgetSpentError
        print(f"{study}: {name} …", flush=True)
        start = time.monotonic()
        try:
            parts[name] = _plain_json(work())
        except Exception as error:
            if not may_fail:
                raise
            first, *_ = str(error).splitlines() or [""]
            parts[name] = {"status": "failed", "reason": f"{type(error).__name__}: {first}"}
            print(f"{study}: {name} failed: {parts[name]['reason']}", flush=True)
        print(f"{study}: {name} took {time.monotonic() - start:.0f} s", flush=True)
        self.write()
        return parts[name]

    def write(self) -> None:
        """Write the file, with what its studies amount to, whole or not at all."""
        self.record["summary"] = summary(self.record["studies"])
        with written_whole(self.path) as file:
            file.write(json.dumps(self.record, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def provenance(device: torch.device, repeats: int) -> dict[str, Any]:
    """Say where and with what something is measured."""
    return {
        "machine": device_name(torch.device("cpu")),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(device) if device.type == "cpu" else f"{device} ({device_name(device)})",
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "cudnn": torch.backends.cudnn.version() if device.type == "cuda" else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "date": datetime.date.today().isoformat(),
        "repeats": repeats,
    }


def read_record(path: Path) -> dict[str, Any]:
    """Return what a file of measurements holds. Raises RecordError for one that is damaged or something else."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RecordError(f"{path} cannot be read as measurements ({error}): remove it, or give another") from error
    if not isinstance(record, dict) or not {"provenance", "studies", "summary"} <= set(record):
        raise RecordError(f"{path} is no file of measurements: it lacks provenance, studies or summary")
    return record


def recorded() -> dict[str, dict[str, Any]]:
    """Return the recorded measurements of the course's reference machines, by file name."""
    return {path.stem: read_record(path) for path in sorted(MEASUREMENTS.glob("machine-*.json"))}


def largest_difference(tensors: Iterable[Tensor], others: Iterable[Tensor]) -> float:
    """Return how far the entries of two lists of tensors are apart at most."""
    return max((a - b).abs().max().item() for a, b in zip(tensors, others, strict=True))


def _plain_json(value: Any) -> Any:
    """Return `value` as JSON keeps it: lists for tuples, and None for what is no finite number."""
    if isinstance(value, dict):
        return {str(key): _plain_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(measurement: Measurement, ratio: Ratio) -> dict[str, Any]:
    """Return a measurement and its ratio to the first version as JSON."""
    values = {key: value for key, value in dataclasses.asdict(measurement).items() if key != "seconds"}
    return {**values, "ratio": ratio.median, "ratio_spread": ratio.high - ratio.low}
