"""How long a reply takes: the prefix run again for each word, or the state carried; and smaller output layers."""

import copy
import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.generation import reply, reply_from_prefix
from helpers.language import WordModel
from helpers.studies.recording import Recorder
from helpers.studies.tasks import Task
from helpers.timing import synchronised_clock

WORDS, PROMPTS = 20, 40


def replies_study(task: Task, prompts: Sequence[Tensor], recorder: Recorder, device: torch.device) -> None:
    """Train the slow model and the final one for an epoch, then time replies of 20 words to 40 utterances in turns."""

    def work() -> dict[str, Any]:
        models = {}
        for name, recipe in (("full", task.recipe(task.rungs[0].name)), ("adaptive", task.recipe(task.final))):
            run = task.run(recipe, 0, device)
            for _ in run.epoch():
                pass
            models[name] = run.model.eval()
        return _latencies(models, [prompt.to(device) for prompt in prompts[:PROMPTS]], device)

    recorder.part("dialogue", "replies", work)


def _latencies(models: dict[str, WordModel], prompts: Sequence[Tensor], device: torch.device) -> dict[str, Any]:
    ways: dict[str, Callable[[Tensor], list[int]]] = {
        "prefix again": lambda prompt: reply_from_prefix(models["full"], prompt, WORDS),
        "state carried": lambda prompt: reply(models["full"], prompt, WORDS),
        "adaptive softmax, LSTM": lambda prompt: reply(models["adaptive"], prompt, WORDS),
    }
    if device.type == "cpu":
        small = quantized(models["full"])
        ways["state carried, int8"] = lambda prompt: reply(small, prompt, WORDS)
    result: dict[str, Any] = {"words": WORDS, "prompts": len(prompts)}
    for threads in sorted({torch.get_num_threads(), 1}, reverse=True):
        seconds, said = _in_turns(ways, prompts, threads, device)
        ratios = [a / b for a, b in zip(seconds["prefix again"], seconds["state carried"], strict=True)]
        low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
        result[f"{threads} threads"] = {
            "ways": {
                name: {
                    "p50_seconds": statistics.median(values),
                    "p95_seconds": statistics.quantiles(values, n=20, method="inclusive")[-1],
                    "same_words": said[name] == said["prefix again"],
                }
                for name, values in seconds.items()
            },
            "p50_ratio": statistics.median(seconds["prefix again"]) / statistics.median(seconds["state carried"]),
            "turn_ratio": median,
            "turn_ratio_spread": high - low,
        }
    return result


def _in_turns(
    ways: dict[str, Callable[[Tensor], list[int]]], prompts: Sequence[Tensor], threads: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, list[list[int]]]]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    seconds, said = ({name: [] for name in ways} for _ in range(2))
    try:
        for way in ways.values():
            way(prompts[0])
        for prompt in prompts:
            for name, way in ways.items():
                start = synchronised_clock(device)
                said[name].append(way(prompt))
                seconds[name].append(synchronised_clock(device) - start)
    finally:
        torch.set_num_threads(before)
    return seconds, said


def quantized(model: WordModel) -> WordModel:
    """Return a copy whose output layer multiplies 8-bit integers, and whose weights are rounded to them, for a CPU.

    `torch.ao.quantization` is deprecated in favour of torchao, a package of its own; its warnings say no more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = copy.deepcopy(model)
        small.output = torch.ao.quantization.quantize_dynamic(nn.Sequential(small.output), {nn.Linear}, torch.qint8)
    return small
