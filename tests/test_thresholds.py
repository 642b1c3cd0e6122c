"""What the course promises of speed and memory, measured here and now: a benchmark of most of an hour.

    python -m pytest -m benchmark tests/test_thresholds.py

wants a quiet machine and the public data sets (COURSE_DATA). With COURSE_MEASUREMENTS=FILE it judges a file that
`python -m helpers measure` has written, and measures nothing.
"""

import os
from pathlib import Path

import pytest
import torch

from helpers.__main__ import STUDIES
from helpers.studies import Recorder, measure_studies, read_record

pytestmark = [pytest.mark.benchmark, pytest.mark.slow, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    if "COURSE_MEASUREMENTS" in os.environ:
        return read_record(Path(os.environ["COURSE_MEASUREMENTS"]))
    if "COURSE_DATA" not in os.environ:
        pytest.skip("needs COURSE_DATA, a folder with WikiText-2 and Persona-Chat")
    path = tmp_path_factory.mktemp("measured") / "measurements.json"
    recorder = Recorder.start(path, torch.device("cpu"), repeats=3, seconds=7200, resume=False)
    measure_studies(STUDIES, recorder, torch.device("cpu"), 3)
    return recorder.record


@pytest.mark.parametrize(
    ("figure", "least"),
    [
        ("dialogue_time_to_equal_perplexity_ratio", 10),
        ("dialogue_time_to_equal_perplexity_ratio_from_article_settings", 15),
        ("dialogue_peak_memory_reduction", 0.45),
        ("reply_p50_ratio", 5),
        ("language_model_time_to_equal_perplexity_ratio", 6),
        ("language_model_time_to_equal_perplexity_ratio_from_article_settings", 10),
        ("headlines_time_to_equal_accuracy_ratio", 4),
        ("one_layer_ratio", 1.3),
        ("matrix_product_fraction", 0.7),
    ],
)
def test_a_figure_reaches_its_threshold(record, figure, least):
    assert record["summary"][figure] is not None, "it was not measured"
    assert record["summary"][figure] >= least


def test_the_time_of_a_step_is_linear_in_its_length(record):
    assert record["summary"]["step_time_length_exponent"] == pytest.approx(1, abs=0.1)


def test_the_backward_pass_by_hand_has_the_gradients_of_nn_rnn(record):
    assert record["studies"]["layers"]["forms"]["backward by hand"]["gradient_difference"] < 1e-4


def test_the_fast_reply_says_the_same_words(record):
    replies = record["studies"]["dialogue"]["replies"]
    assert all(part["ways"]["state carried"]["same_words"] for key, part in replies.items() if "threads" in key)


@pytest.mark.parametrize("study", ["dialogue", "language-model", "headlines"])
def test_every_rung_of_the_same_mathematics_has_the_same_loss_and_gradients(record, study):
    parts = {key: part for key, part in record["studies"][study].items() if key.startswith("sameness")}
    same = {key: part for key, part in parts.items() if part["same"]}
    assert same
    for key, part in same.items():
        assert part["loss_difference"] < 1e-4, key
        assert part["gradient_difference"] < 1e-4, key
        assert part["weight_difference_after_a_step"] < 1e-4, key


@pytest.mark.parametrize("study", ["dialogue", "language-model", "headlines"])
def test_a_kept_rung_computes_the_same_or_is_at_most_1_percent_worse_than_the_slow_version(record, study):
    parts = record["studies"][study]
    slow = parts["quality of the article's loop"]["quality"]
    for key, part in parts.items():
        name = key.removeprefix("first call of ")
        is_kept = key.startswith("first call") and part["status"] == "measured" and part["kept"]
        if is_kept and not parts.get(f"sameness of {name}", {}).get("same"):
            quality = parts[f"quality of {name}"]["quality"]
            assert quality <= 1.01 * slow if parts["facts"]["quality"] == "perplexity" else quality >= 0.99 * slow, name
