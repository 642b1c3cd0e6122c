"""What is trained and on which rungs: tasks as data, and a training run that is looked at on its way."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from helpers.recipes import Recipe, Run

LOOKS = 20  # evaluations an epoch


@dataclass(frozen=True)
class Rung:
    """One change to the rung `base`: what it is, and whether the mathematics stay the same."""

    name: str
    change: str
    base: str | None
    options: Mapping[str, Any]
    same: bool = False  # equal loss and gradients are expected; else the quality decides
    kept: bool = True  # part of the way up; else tried and left
    needs: str | None = None  # hardware without which it is not measured


@dataclass(frozen=True)
class Task:
    """What is trained: models, batches and their judge, for any recipe."""

    name: str
    unit: str  # what is counted: real tokens, or examples
    quality: str  # perplexity (lower is better) or accuracy (higher)
    build: Callable[[Recipe], nn.Module]
    loader: Callable[[Recipe], Iterable]  # the training batches
    sample: Callable[[Recipe, int], list]  # batches spread evenly over an epoch, for timing; with one, the same texts
    largest: Callable[[Recipe], Any]  # the batch of an epoch that needs most memory
    judge: Callable[[nn.Module], float]
    units_an_epoch: int
    units: Callable[[Any], int]  # in a batch
    slow: Recipe
    rungs: Sequence[Rung]
    epochs: int = 1
    carry: bool = False
    looks: int = LOOKS
    facts: Mapping[str, Any] = field(default_factory=dict)

    def recipe(self, name: str) -> Recipe:
        """Return the recipe of a rung: the slow one, with the changes of all rungs that lead there."""
        return replace(self.slow, **self.options(name))

    def run(self, recipe: Recipe, seed: int, device: torch.device) -> Run:
        """Return a fresh run."""
        return Run(recipe, self.build, self.loader, carry=self.carry, seed=seed, device=device)

    def reached(self, quality: float, target: float) -> bool:
        """Return whether `quality` is as good as `target`."""
        return quality <= target if self.quality == "perplexity" else quality >= target

    @property
    def final(self) -> str:
        """The name of the last rung that is kept."""
        return [rung.name for rung in self.rungs if rung.kept][-1]

    def options(self, name: str) -> dict[str, Any]:
        """Return all that a rung changes of the slow recipe."""
        rung = next(rung for rung in self.rungs if rung.name == name)
        return {**({} if rung.base is None else self.options(rung.base)), **rung.options}

    def best(self, qualities: Mapping[float, float]) -> float:
        """Return the key of the best of `qualities`; one that is not a number is worse than all."""
        known = {key: quality for key, quality in qualities.items() if math.isfinite(quality)}
        if not known:
            raise RuntimeError(f"{self.name}: no learning rate of the grid gave a finite {self.quality}")
        return (min if self.quality == "perplexity" else max)(known, key=known.get)


def evenly(examples: int, batch_size: int, count: int) -> list[slice]:
    """Return `count` batches that lie evenly over `examples`; the first one where `count` is 1."""
    whole = max(1, examples // batch_size)
    begins = [int((k + 0.5) * whole / count) * batch_size for k in range(count)] if count > 1 else [0]
    return [slice(begin, begin + batch_size) for begin in begins]


def train(
    task: Task,
    recipe: Recipe,
    seed: int,
    device: torch.device,
    *,
    looks: int = 1,
    target: float | None = None,
) -> dict[str, Any]:
    """Train for the task's epochs, with `looks` at the quality an epoch, outside of the clock.

    Return the seconds of work, the quality at the end, and the curve of (seconds, quality). With a `target` training
    ends where it is reached.
    """
    run = task.run(recipe, seed, device)
    every = max(1, len(run.batches) // looks)
    before, curve = 0.0, []
    for _ in range(task.epochs):
        for worked in run.epoch(every):
            curve.append((before + worked, task.judge(run.model)))
            if target is not None and task.reached(curve[-1][1], target):
                return {"seconds": curve[-1][0], "quality": curve[-1][1], "curve": curve}
        before = curve[-1][0]
    return {"seconds": curve[-1][0], "quality": curve[-1][1], "curve": curve}


def time_to(task: Task, curve: Iterable[tuple[float, float]], target: float) -> float | None:
    """Return the seconds at the first look at which the quality is as good as `target`; None where it never is."""
    return next((seconds for seconds, quality in curve if task.reached(quality, target)), None)
