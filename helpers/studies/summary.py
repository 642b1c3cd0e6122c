"""What the studies amount to: the figures that the course promises, null where they were not measured."""

import statistics
from collections.abc import Iterable
from typing import Any

SUMMARY = (
    "dialogue_time_to_equal_perplexity_ratio",
    "dialogue_time_to_equal_perplexity_ratio_from_article_settings",
    "dialogue_peak_memory_reduction",
    "reply_p50_ratio",
    "language_model_time_to_equal_perplexity_ratio",
    "language_model_time_to_equal_perplexity_ratio_from_article_settings",
    "headlines_time_to_equal_accuracy_ratio",
    "headlines_time_to_equal_accuracy_ratio_from_article_settings",
    "one_layer_ratio",
    "step_time_length_exponent",
    "matrix_product_fraction",
)
TIMES = {
    "dialogue": "dialogue_time_to_equal_perplexity_ratio",
    "language-model": "language_model_time_to_equal_perplexity_ratio",
    "headlines": "headlines_time_to_equal_accuracy_ratio",
}


TEXTS = {
    "dialogue_time_to_equal_perplexity_ratio": ("replies: equal perplexity sooner, both at their best rate", "×"),
    "dialogue_time_to_equal_perplexity_ratio_from_article_settings": ("the same, against the article's settings", "×"),
    "dialogue_peak_memory_reduction": ("replies: less memory at the peak of training", "%"),
    "reply_p50_ratio": ("a reply of 20 words, the same words, sooner", "×"),
    "language_model_time_to_equal_perplexity_ratio": ("word model: equal perplexity sooner", "×"),
    "language_model_time_to_equal_perplexity_ratio_from_article_settings": ("against the article's settings", "×"),
    "headlines_time_to_equal_accuracy_ratio": ("headlines: equal accuracy sooner", "×"),
    "one_layer_ratio": ("one layer with a backward pass by hand, against `nn.RNN`", "×"),
    "step_time_length_exponent": ("time of a step grows with length to the power of", ""),
    "matrix_product_fraction": ("word model: share of the rate of its matrix products alone", "%"),
}


def summary(studies: dict[str, Any]) -> dict[str, float | None]:
    """Return each figure and `<figure>_spread`, in one flat object. A ratio is slow / fast, a reduction a share.

    The ratios of time are medians over seeds and their spread the range; others have the spread of their repeats,
    and the peak of memory, which is counted and not timed, has none: 0.
    """
    values: dict[str, float | None] = dict.fromkeys(SUMMARY)
    spreads: dict[str, float | None] = dict.fromkeys(SUMMARY)
    for study, name in TIMES.items():
        turns = [part for key, part in studies.get(study, {}).items() if key.startswith("in turns")]
        for key in ("ratio", "ratio_from_article_settings"):
            full = name + key.removeprefix("ratio")
            values[full], spreads[full] = _middle(turn[key] for turn in turns)
    dialogue = studies.get("dialogue", {})
    ends = [dialogue.get("facts", {}).get(end) for end in ("slow", "final")]
    peaks = [dialogue.get(f"first call of {name}", {}).get("peak_mebibytes") for name in ends]
    if all(peaks):
        values["dialogue_peak_memory_reduction"] = 1 - peaks[1] / peaks[0]
        spreads["dialogue_peak_memory_reduction"] = 0.0
    if dialogue.get("replies", {}).get("words"):
        first = next(part for key, part in dialogue["replies"].items() if key.endswith(" threads"))
        values["reply_p50_ratio"], spreads["reply_p50_ratio"] = first["p50_ratio"], first["turn_ratio_spread"]
    layers = studies.get("layers", {})
    if "backward by hand" in layers.get("forms", {}):
        form = layers["forms"]["backward by hand"]
        values["one_layer_ratio"], spreads["one_layer_ratio"] = form["ratio"], form["ratio_spread"]
    if "exponents" in layers.get("time over length", {}):
        fit = layers["time over length"]["exponents"]["backward by hand"]
        values["step_time_length_exponent"], spreads["step_time_length_exponent"] = fit["median"], fit["spread"]
    model = studies.get("language-model", {})
    products = model.get(f"products of {model.get('facts', {}).get('final')}", {})
    if "fraction" in products:
        values["matrix_product_fraction"] = products["fraction"]
        spreads["matrix_product_fraction"] = products["fraction_spread"]
    return {key: value for name in SUMMARY for key, value in ((name, values[name]), (f"{name}_spread", spreads[name]))}


def report(record: dict[str, Any]) -> str:
    """Return a record's summary as lines of Markdown: what, how much with its spread, and on which machine."""
    where, found = record["provenance"], record["summary"]
    lines = ["| | measured | spread |", "|---|---|---|"]
    for name, (text, unit) in TEXTS.items():
        if (value := found.get(name)) is None:
            continue
        factor = 100 if unit == "%" else 1
        spread = found[f"{name}_spread"]
        spread = "" if spread is None else f"≈{spread * factor:.2g} "
        lines.append(f"| {text} | ≈{value * factor:.3g} {unit} | {spread}|".replace("  |", " |"))
    device = "" if where["device"] == "cpu" else f", {where['device']}"
    versions = f"torch {where['torch']}, Python {where['python']}, {where['date']}; up to {where['repeats']} seeds"
    return "\n".join([*lines, "", f"Recorded on {where['machine']}{device}; {versions}."])


def _middle(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """Return the median and the range; None where there are none, or one run did not get there, or for one's range."""
    values = list(values)
    if not values or None in values:
        return None, None
    return statistics.median(values), max(values) - min(values) if len(values) > 1 else None
