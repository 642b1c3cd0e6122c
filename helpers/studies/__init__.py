"""The course's measurements, outside of the notebooks: studies, their file, and what they amount to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from helpers.studies.headlines import headlines_task
from helpers.studies.ladder import climb
from helpers.studies.layers import layers_study
from helpers.studies.memory import memory_study
from helpers.studies.recording import BudgetSpentError, Recorder, RecordError, read_record, recorded
from helpers.studies.replies import replies_study
from helpers.studies.summary import report, summary
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

    Ends early and in order when the recorder's seconds are spent; a study that fails is named, and the next begins.
    """
    try:
        for name in names:
            if name == "layers":
                layers_study(recorder, device, repeats)
            elif name == "memory":
                memory_study(recorder, device, repeats)
            elif name == "headlines":
                climb(headlines_task(headlines), recorder, device, repeats)
            elif name == "language-model":
                climb(language_task(), recorder, device, repeats)
            else:
                task, prompts = dialogue_task()
                climb(task, recorder, device, repeats)
                replies_study(task, prompts, recorder, device)
    except BudgetSpentError:
        print("the seconds for measuring are spent; go on with --resume", flush=True)
    finally:
        recorder.record["summary"] = summary(recorder.record["studies"])
        recorder.write()
    return recorder.record["summary"]
