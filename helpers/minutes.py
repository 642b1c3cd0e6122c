"""How long the notebooks will run on this machine, from a recorded run on another and one measure on both."""

import datetime
import json
import os
from typing import Any

import torch

from helpers.corpora.sources import DATA
from helpers.device import device_name
from helpers.models import TextClassifier
from helpers.timing import measure

RECORD = DATA / "measurements" / "notebooks.json"


def step_seconds() -> float:
    """Measure one training step of a small classifier on this CPU, in seconds (median)."""
    torch.manual_seed(0)
    model = TextClassifier(1000, 2)
    tokens, lengths = torch.randint(2, 1000, (32, 12)), torch.full((32,), 12)
    labels = torch.zeros(32, dtype=torch.int64)

    def step() -> None:
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens, lengths), labels).backward()

    return measure(step, repeats=9).median_seconds


def calibration() -> dict[str, Any]:
    """Describe this machine and how fast its CPU is, for a record."""
    return {
        "machine": device_name(torch.device("cpu")),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "step_seconds": step_seconds(),
    }


def predicted_seconds(step: float) -> dict[str, float]:
    """Return the seconds a notebook that this machine needs, if its training step takes `step` seconds."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return {name: seconds * step / record["step_seconds"] for name, seconds in record["notebook_seconds"].items()}
