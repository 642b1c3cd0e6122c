"""The ladder: versions of one training run, each beside the slow one in speed, memory, quality and sameness."""

import functools
import gc
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from helpers.compiling import compiler_fault, count_graphs
from helpers.device import peak_memory, to_device
from helpers.precision import autocast_dtype
from helpers.recipes import Recipe, Run
from helpers.studies.products import product_calls
from helpers.studies.recording import Recorder, RecordError, largest_difference, plain
from helpers.studies.tasks import Rung, Task, time_to, train
from helpers.timing import compare, synchronised_clock

RATES = (1e-3, 2e-3, 4e-3, 8e-3)  # the grid of learning rates from which both sides get the best
ARTICLE = {"learning_rate": 1e-3, "clip": None}  # Adam's default rate, and no clipping


def climb(task: Task, recorder: Recorder, device: torch.device, repeats: int) -> None:
    """Measure all rungs of a task, and the time in which the last kept one reaches the quality of the first.

    A rung that fails is recorded with its reason and left out of what follows; the first and the last must not fail.
    """
    part = functools.partial(recorder.part, task.name)
    facts = {**task.facts, "unit": task.unit, "quality": task.quality}
    facts |= {"slow": task.rungs[0].name, "final": task.final}
    if part("facts", lambda: facts) != facts:
        raise RecordError(f"{recorder.path} has {task.name} on other data: give another --out")
    slow, final = task.rungs[0].name, task.final
    _warm_up(task, device)
    able = {}
    for rung in task.rungs:
        first = part(f"first call of {rung.name}", lambda r=rung: _try(task, r, device), may_fail=True)
        if first["status"] == "measured":
            able[rung.name] = rung
    if not {slow, final} <= set(able):
        raise RuntimeError(f"{task.name}: without {slow} and {final} there is nothing to compare")
    rates = part("learning rate", lambda: _best_rates(task, device))
    part("speed", lambda: _speeds(task, list(able), device, repeats))
    for rung in able.values():
        part(f"products of {rung.name}", lambda r=rung: _fraction(task, r, device, repeats), may_fail=True)
        if rung.base in able:
            part(f"sameness of {rung.name}", lambda r=rung: _difference(task, r, device), may_fail=True)
    for rung in able.values():
        if rung.kept or not rung.same:
            rate = {} if "learning_rate" in task.options(rung.name) else {"learning_rate": rates["slow"]}
            recipe = replace(task.recipe(rung.name), **rate)
            work = functools.partial(_quality, task, recipe, device, rates["slow_quality"])
            part(f"quality of {rung.name}", work, may_fail=True)
    for seed in range(1, repeats + 1):
        part(f"in turns, seed {seed}", lambda s=seed: _turn(task, rates, s, device))


def _warm_up(task: Task, device: torch.device) -> None:
    """Take a step with a run that is thrown away, so that no rung pays for the start of a library."""
    recipe = task.recipe(task.rungs[0].name)
    task.run(recipe, 0, device).step(task.sample(recipe, 1)[0])


def _best_rates(task: Task, device: torch.device) -> dict[str, Any]:
    """Train the slow version at every rate of the grid, then the final one, which is to reach the best of these."""
    slow, final = task.recipe(task.rungs[0].name), task.recipe(task.final)
    runs, qualities, times = {}, {}, {}
    for rate in RATES:
        runs[f"slow {rate}"] = train(task, replace(slow, learning_rate=rate), 0, device)
        qualities[rate] = runs[f"slow {rate}"]["quality"]
    best = task.best(qualities)
    for rate in RATES:
        way = train(task, replace(final, learning_rate=rate), 0, device, looks=task.looks, target=qualities[best])
        runs[f"final {rate}"] = way
        times[rate] = time_to(task, way["curve"], qualities[best]) or math.inf
    return {"slow": best, "final": min(times, key=times.get), "slow_quality": qualities[best], "runs": runs}


def _try(task: Task, rung: Rung, device: torch.device) -> dict[str, Any]:
    """Take a rung's first steps: seconds, graphs compiled, and the peak of memory with weights, state and all."""
    if rung.needs and device.type != rung.needs:
        return {"status": "needs hardware", "reason": f"needs {rung.needs}, this is {device.type}"}
    recipe = task.recipe(rung.name)
    if recipe.compile and (fault := compiler_fault()):
        raise RuntimeError(fault)
    (batch,) = task.sample(recipe, 1)
    with count_graphs() as count:
        run = task.run(recipe, 0, device)
        start = synchronised_clock(device)
        run.step(batch)
        seconds = synchronised_clock(device) - start
    del run
    gc.collect()  # what is freed inside the block below would count against its peak
    with peak_memory(device) as peak:
        run = task.run(recipe, 0, device)
        for _ in range(2):
            run.step(task.largest(recipe))
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
    """Time the rungs' steps in turns, on batches spread over an epoch that are made beforehand."""
    torch.compiler.reset()
    calls, units = {}, {}
    for name in names:
        recipe = task.recipe(name)
        run, batches = task.run(recipe, 0, device), task.sample(recipe, 4)

        def steps(run: Run = run, batches: list = batches) -> None:
            for batch in batches:
                run.step(batch)

        calls[name], units[name] = steps, sum(map(task.units, batches))
    comparison = compare(calls, device, repeats=2 * repeats + 3, min_seconds=0.2)
    slow = comparison.measurements[names[0]]
    result = {}
    for name, measurement in comparison.measurements.items():
        rates = [units[name] / seconds for seconds in measurement.seconds]
        turns = [a / b for a, b in zip(rates, (units[names[0]] / s for s in slow.seconds), strict=True)]
        low, _, high = statistics.quantiles(turns, n=4, method="inclusive")
        low_rate, rate, high_rate = statistics.quantiles(rates, n=4, method="inclusive")
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
    """Compare a step with its matrix products alone, in turns and in the same precision."""
    torch.compiler.reset()
    recipe = task.recipe(rung.name)
    run = task.run(recipe, 0, device)
    batch = to_device(task.sample(recipe, 3)[1], device)
    dtype = autocast_dtype(device) if recipe.autocast else torch.float32
    products, operations = product_calls(run.model, batch, everywhere=recipe.everywhere, dtype=dtype)
    with run.precision():
        calls = {"step": lambda: run.step(batch), "products": products}
        comparison = compare(calls, device, repeats=2 * repeats + 3, min_seconds=0.2)
    ratio = comparison.speedups["products"]
    return {
        "fraction": 1 / ratio.median,
        "fraction_spread": 1 / ratio.low - 1 / ratio.high,
        "operations": operations,
        "step": plain(comparison.measurements["step"], comparison.speedups["step"]),
    }


def _difference(task: Task, rung: Rung, device: torch.device) -> dict[str, Any]:
    """Compare loss, gradients and the weights after a step with those of the rung below, on the same examples.

    Where the mathematics are not the same there is nothing to compare, and that is said.
    """
    if not rung.same:
        return {"same": False}
    results = []
    for name in (rung.base, rung.name):
        recipe = task.recipe(name)
        torch.compiler.reset()
        run = task.run(recipe, 0, device)
        batch = to_device(task.sample(recipe, 1)[0], device)
        with run.precision():
            loss = run.loss(batch)
            gradients = torch.autograd.grad(loss, list(run.model.parameters()))
        run.state = None
        run.step(batch)
        results.append((loss.detach(), gradients, [weight.detach() for weight in run.model.parameters()]))
    (loss, gradients, weights), (other_loss, other_gradients, other_weights) = results
    return {
        "same": True,
        "loss_difference": abs(loss - other_loss).item(),
        "gradient_difference": largest_difference(gradients, other_gradients),
        "largest_gradient": max(gradient.abs().max().item() for gradient in gradients),
        "weight_difference_after_a_step": largest_difference(weights, other_weights),
    }


def _quality(task: Task, recipe: Recipe, device: torch.device, target: float) -> dict[str, Any]:
    way = train(task, recipe, 0, device, looks=task.looks)
    return {**way, "reached_seconds": time_to(task, way["curve"], target)}


def _turn(task: Task, rates: dict[str, Any], seed: int, device: torch.device) -> dict[str, Any]:
    """With one seed: train the slow version, then the final one until it is as good; and so from the article's.

    The slow version is billed until the first look at which it is as good as at its end, and no longer.
    """
    slow, final = task.recipe(task.rungs[0].name), task.recipe(task.final)
    result, ratios = {}, {}
    for name, options in (("slow", {"learning_rate": rates["slow"]}), ("article", ARTICLE)):
        result[name] = train(task, replace(slow, **options), seed, device, looks=task.looks)
        target = result[name]["quality"]
        fast = replace(final, learning_rate=rates["final"])
        result[f"final to {name}"] = train(task, fast, seed, device, looks=task.looks, target=target)
        reached = time_to(task, result[f"final to {name}"]["curve"], target)
        ratios[name] = reached and time_to(task, result[name]["curve"], target) / reached
    return {**result, "ratio": ratios["slow"], "ratio_from_article_settings": ratios["article"]}
