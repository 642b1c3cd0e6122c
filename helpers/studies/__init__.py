"""The course's measurements, outside of the notebooks: studies, their file, and what they amount to."""

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from helpers.studies.headlines import headlines_task
from helpers.studies.ladder import climb
from helpers.studies.layers import layers_study
from helpers.studies.memory import memory_study
from helpers.studies.recording import BudgetSpentError, Recorder, RecordError, read_record, recorded
from helpers.studies.replies import replies_study
from helpers.studies.scaling import scaling_study
from helpers.studies.summary import report, summary
from helpers.studies.tasks import Task
from helpers.studies.words import dialogue_task, language_task

__all__ = [
    "BudgetSpentError",
    "RecordError",
    "Recorder",
    "measure_studies",
    "read_record",
    "recorded",
    "report",
    "summary",
]


def measure_studies(
    names: Sequence[str], recorder: Recorder, device: torch.device, repeats: int, headlines: Path | None = None
) -> dict[str, Any]:
    """Measure the studies of these names one after the other, and return the summary, which is also in the file.

    All texts are read first, so that a bad file ends it before anything is measured. Ends early and in order when the
    recorder's seconds are spent. A study that fails is named, and the next begins.
    """
    studies: dict[str, Callable[[], None]] = {}
    for name in names:
        if name == "layers":
            studies[name] = lambda: layers_study(recorder, device, repeats)
        elif name == "memory":
            studies[name] = lambda: memory_study(recorder, device, repeats)
        elif name == "scaling":
            studies[name] = lambda: scaling_study(recorder, device, repeats)
        elif name == "headlines":
            studies[name] = functools.partial(climb, headlines_task(headlines), recorder, device, repeats)
        elif name == "language-model":
            studies[name] = functools.partial(climb, language_task(), recorder, device, repeats)
        else:
            studies[name] = functools.partial(_dialogue, recorder, device, repeats, *dialogue_task())
    for name, study in studies.items():
        try:
            study()
        except BudgetSpentError:
            print("the seconds for measuring are spent; go on with --resume", flush=True)
            break
        except RecordError:
            raise
        except Exception as error:  # whatever a machine cannot do; the other studies may be what it can
            recorder.record["studies"].setdefault(name, {})["failed"] = f"{type(error).__name__}: {error}"
            print(f"{name} failed and is left: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    recorder.write()
    return recorder.record["summary"]


def _dialogue(recorder: Recorder, device: torch.device, repeats: int, task: Task, prompts: Sequence[Tensor]) -> None:
    climb(task, recorder, device, repeats)
    replies_study(task, prompts, recorder, device)
