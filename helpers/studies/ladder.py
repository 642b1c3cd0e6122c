"""The ladder: versions of one training run, each beside the slow one in speed, memory, quality and sameness."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from helpers.compiling import count_graphs
from helpers.device import peak_memory, to_device
from helpers.recipes import Recipe, Run
from helpers.studies.products import product_calls
from helpers.studies.recording import Recorder, plain
from helpers.timing import compare, synchronised_clock

RATES = (1e-3, 2e-3, 4e-3, 8e-3)  # the grid of learning rates from which both sides get the best
ARTICLE = {"learning_rate": 1e-3, "clip": None}  # Adam's default rate, and no clipping
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
        rung = next(rung for rung in self.rungs if rung.name == name)
        before = self.slow if rung.base is None else self.recipe(rung.base)
        return replace(before, **rung.options)

    def run(self, recipe: Recipe, seed: int, device: torch.device) -> Run:
        """Return a fresh run."""
        return Run(recipe, self.build, self.loader, carry=self.carry, seed=seed, device=device)

    def reached(self, quality: float, target: float) -> bool:
        """Return whether `quality` is as good as `target`."""
        return quality <= target if self.quality == "perplexity" else quality >= target

    def best(self, qualities: Mapping[float, float]) -> float:
        """Return the key of the best of `qualities`."""
        return (min if self.quality == "perplexity" else max)(qualities, key=lambda key: qualities[key])


def climb(task: Task, recorder: Recorder, device: torch.device, repeats: int) -> None:
    """Measure all rungs of a task, and the time in which the last one reaches the quality of the first."""
    recorder.part(task.name, "facts", lambda: {**task.facts, "unit": task.unit, "quality": task.quality})
    slow, final = task.rungs[0].name, [rung for rung in task.rungs if rung.kept][-1].name
    rates = recorder.part(task.name, "learning rate", lambda: _best_rates(task, slow, final, device))
    able = {}
    for rung in task.rungs:
        first = recorder.part(
            task.name, f"first call of {rung.name}", lambda r=rung: _try(task, r, device), may_fail=True
        )
        if first["status"] == "measured":
            able[rung.name] = rung
    recorder.part(task.name, "speed", lambda: _speeds(task, list(able), device, repeats))
    for rung in able.values():
        recorder.part(task.name, f"products of {rung.name}", lambda r=rung: _fraction(task, r, device, repeats))
        if rung.base is not None:
            recorder.part(task.name, f"sameness of {rung.name}", lambda r=rung: _difference(task, r, device))
    target = rates["slow_quality"]
    for rung in able.values():
        if rung.kept or not rung.same:
            rate = {"learning_rate": rates["slow"]} if "learning_rate" not in _all_options(task, rung) else {}
            recipe = replace(task.recipe(rung.name), **rate)
            recorder.part(task.name, f"quality of {rung.name}", lambda r=recipe: train(task, r, 0, device, target))
    for seed in range(1, repeats + 1):
        recorder.part(task.name, f"in turns, seed {seed}", lambda s=seed: _turn(task, slow, final, rates, s, device))


def train(
    task: Task, recipe: Recipe, seed: int, device: torch.device, target: float | None = None, *, stop: bool = False
) -> dict[str, Any]:
    """Train for the task's epochs and return the seconds of work, the quality at the end and the way there.

    The quality is looked at outside of the clock: after each epoch, and with a `target` also on the way to it;
    `stop` ends where it is reached.
    """
    run = task.run(recipe, seed, device)
    steps = len(run.batches)
    every = max(1, steps // task.looks) if target is not None else steps
    before, seconds, curve = 0.0, 0.0, []
    reached: float | None = None
    for _ in range(task.epochs):
        for step, worked in enumerate(run.epoch(), start=1):
            seconds = before + worked
            if step == steps or step % every == 0:
                curve.append((seconds, _look(task, run)))
                if target is not None and reached is None and task.reached(curve[-1][1], target):
                    reached = seconds
                    if stop:
                        break
        before = seconds
        if stop and reached is not None:
            break
    return {"seconds": seconds, "quality": curve[-1][1], "reached_seconds": reached, "curve": curve}


def _look(task: Task, run: Run) -> float:
    state = run.state
    quality = task.judge(run.model)
    run.model.train()
    run.state = state
    return quality


def _all_options(task: Task, rung: Rung) -> dict[str, Any]:
    before = {} if rung.base is None else _all_options(task, next(r for r in task.rungs if r.name == rung.base))
    return {**before, **rung.options}


def _best_rates(task: Task, slow: str, final: str, device: torch.device) -> dict[str, Any]:
    """Train the slow version at every rate of the grid, then the final one, which is to reach the best of these."""
    ends, qualities, times = {}, {}, {}
    for rate in RATES:
        end = train(task, replace(task.recipe(slow), learning_rate=rate), 0, device)
        qualities[rate] = end["quality"]
        ends[str(rate)] = end
    best = task.best(qualities)
    for rate in RATES:
        way = train(task, replace(task.recipe(final), learning_rate=rate), 0, device, qualities[best], stop=True)
        times[rate] = way["reached_seconds"] or float("inf")
        ends[f"final {rate}"] = way
    return {"slow": best, "final": min(times, key=times.get), "slow_quality": qualities[best], "runs": ends}


def _try(task: Task, rung: Rung, device: torch.device) -> dict[str, Any]:
    """Take a rung's first steps: seconds, graphs compiled, and the peak of memory with weights, state and all."""
    if rung.needs and device.type != rung.needs:
        return {"status": "needs hardware", "reason": f"needs {rung.needs}, this is {device.type}"}
    recipe = task.recipe(rung.name)
    batches = task.sample(recipe, 4)
    with count_graphs() as count:
        run = task.run(recipe, 0, device)
        start = synchronised_clock(device)
        for batch in batches:
            run.step(batch)
        seconds = synchronised_clock(device) - start
    largest = max(batches, key=lambda batch: batch.tokens.numel())
    del run
    with peak_memory(device) as peak:
        run = task.run(recipe, 0, device)
        for _ in range(2):
            run.step(largest)
    return {
        "status": "measured",
        "change": rung.change,
        "base": rung.base,
        "kept": rung.kept,
        "first_call_seconds": seconds,
        "graphs": count.graphs,
        "peak_mebibytes": peak.mebibytes,
        "memory_counted": peak.counted,
    }


def _speeds(task: Task, names: Sequence[str], device: torch.device, repeats: int) -> dict[str, Any]:
    """Time the rungs' steps in turns on batches spread over an epoch."""
    torch.compiler.reset()
    calls, units = {}, {}
    for name in names:
        recipe = task.recipe(name)
        run, batches = task.run(recipe, 0, device), task.sample(recipe, 4)

        def steps(run: Run = run, batches: list = batches) -> None:
            for batch in batches:
                run.step(batch)

        steps()  # compiles
        calls[name], units[name] = steps, sum(map(task.units, batches))
    comparison = compare(calls, device, repeats=max(3, 2 * repeats + 1), min_seconds=0.2)
    slow = comparison.measurements[names[0]]
    result = {}
    for name, measurement in comparison.measurements.items():
        rates = [units[name] / seconds for seconds in measurement.seconds]
        turns = [a / b for a, b in zip(rates, (units[names[0]] / s for s in slow.seconds), strict=True)]
        low, _, high = statistics.quantiles(turns, n=4, method="inclusive")
        low_rate, _, high_rate = statistics.quantiles(rates, n=4, method="inclusive")
        rate = statistics.median(rates)
        result[name] = {
            "units_per_second": rate,
            "units_per_second_spread": high_rate - low_rate,
            "epoch_seconds": task.units_an_epoch / rate,
            "epoch_seconds_spread": task.units_an_epoch / low_rate - task.units_an_epoch / high_rate,
            "repeats": measurement.repeats,
            "threads": measurement.threads,
            "ratio": statistics.median(turns),
            "ratio_spread": high - low,
        }
    return result


def _fraction(task: Task, rung: Rung, device: torch.device, repeats: int) -> dict[str, Any]:
    """Compare a step with its matrix products alone, in turns."""
    torch.compiler.reset()
    recipe = task.recipe(rung.name)
    run = task.run(recipe, 0, device)
    batch = to_device(task.sample(recipe, 3)[1], device)
    products, operations = product_calls(run.model, batch, everywhere=recipe.everywhere)
    run.step(batch)
    calls = {"step": lambda: run.step(batch), "products": products}
    comparison = compare(calls, device, repeats=max(5, 2 * repeats + 1), min_seconds=0.2)
    ratio = comparison.speedups["products"]
    return {
        "fraction": 1 / ratio.median,
        "fraction_spread": 1 / ratio.low - 1 / ratio.high,
        "operations": operations,
        "step": plain(comparison.measurements["step"], comparison.speedups["step"]),
    }


def _difference(task: Task, rung: Rung, device: torch.device) -> dict[str, Any]:
    """Compare loss and gradients with those of the rung below, from equal weights on the same examples.

    Where the mathematics are not the same there is nothing to compare, and that is said.
    """
    if not rung.same:
        return {"same": False}
    results = []
    for name in (rung.base, rung.name):
        recipe = task.recipe(name)
        torch.compiler.reset()
        run = task.run(recipe, 0, device)
        (batch,) = task.sample(recipe, 1)
        loss = run.loss(to_device(batch, device))
        results.append((loss, torch.autograd.grad(loss, list(run.model.parameters()))))
    (loss, gradients), (other_loss, others) = results
    pairs = zip(gradients, others, strict=True)
    return {
        "same": True,
        "loss_difference": abs(loss - other_loss).item(),
        "gradient_difference": max((a - b).abs().max().item() for a, b in pairs),
        "largest_gradient": max(gradient.abs().max().item() for gradient in gradients),
    }


def _turn(task: Task, slow: str, final: str, rates: dict[str, Any], seed: int, device: torch.device) -> dict[str, Any]:
    """With one seed: train the slow version, then the final one until it is as good; and so from the article's."""
    first = train(task, replace(task.recipe(slow), learning_rate=rates["slow"]), seed, device)
    fast = replace(task.recipe(final), learning_rate=rates["final"])
    way = train(task, fast, seed, device, first["quality"], stop=True)
    article = train(task, replace(task.recipe(slow), **ARTICLE), seed, device)
    other = next((seconds for seconds, quality in way["curve"] if task.reached(quality, article["quality"])), None)
    if other is None:
        other = train(task, fast, seed, device, article["quality"], stop=True)["reached_seconds"]
    return {
        "slow": first,
        "final": way,
        "ratio": way["reached_seconds"] and first["seconds"] / way["reached_seconds"],
        "article": article,
        "ratio_from_article_settings": other and article["seconds"] / other,
    }


def evenly(examples: int, batch_size: int, count: int) -> list[slice]:
    """Return `count` batches that lie evenly over `examples`; the first one where `count` is 1."""
    whole = max(1, examples // batch_size)
    begins = [int((k + 0.5) * whole / count) * batch_size for k in range(count)] if count > 1 else [0]
    return [slice(begin, begin + batch_size) for begin in begins]
