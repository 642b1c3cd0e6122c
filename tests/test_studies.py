"""The measured ladder: what is compared is comparable, what was done is kept, what failed is said."""

import contextlib
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from helpers import __main__ as command_line
from helpers.batching import IGNORED, WordBatch
from helpers.language import WordModel
from helpers.recipes import GraphedStep, Recipe, Run
from helpers.sequences import stream_batches
from helpers.studies import BudgetSpentError, Recorder, RecordError, measure_studies, summary
from helpers.studies.ladder import climb
from helpers.studies.layers import exponents
from helpers.studies.products import product_calls
from helpers.studies.replies import quantized
from helpers.studies.summary import SUMMARY
from helpers.studies.tasks import Rung, Task, evenly, time_to, train
from helpers.studies.words import dialogue_task, language_task
from helpers.timing import Measurement

CPU = torch.device("cpu")
NUMBERS = torch.arange(2000) % 17


def build(recipe):
    return WordModel(20, cell=recipe.cell, softmax=recipe.softmax, embedding_size=6, hidden_size=8)


def run(seed=0, carry=True, **options):
    recipe = Recipe(**options)
    return Run(recipe, build, lambda r: stream_batches(NUMBERS, r.batch_size, 10), carry=carry, seed=seed)


def task(*rungs, **options):
    def sample(recipe, count):
        return stream_batches(NUMBERS, recipe.batch_size, 10)[:count]

    slow = Rung("slow", "as it is", None, {})
    return Task(
        name="toy",
        unit="tokens",
        quality="perplexity",
        build=build,
        loader=lambda recipe: stream_batches(NUMBERS, recipe.batch_size, 10),
        sample=sample,
        largest=lambda recipe: sample(recipe, 1)[0],
        judge=lambda model: 2.0 + model.embedding.weight.detach().abs().mean().item(),
        units_an_epoch=2000,
        units=lambda batch: batch.tokens.numel(),
        slow=Recipe(),
        rungs=(slow, *rungs),
        **options,
    )


def recorder(path, seconds=float("inf"), resume=False, repeats=1):
    return Recorder.start(path, CPU, repeats=repeats, seconds=seconds, resume=resume)


@pytest.mark.parametrize(
    "options",
    [
        {"everywhere": False},
        {"cell": "fast rnn"},
        {"output_chunks": 4},
        {"segments": 3},
        {"output_chunks": 3, "segments": 2, "everywhere": False},
        {"compile": "model"},
        {"adam": "fused"},
        {"adam": "foreach"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # the compiler's own
def test_a_recipe_with_the_same_mathematics_ends_in_the_same_weights(options):
    plain, other = run(), run(**options)
    for one in (plain, other):
        list(one.epoch())
    for a, b in zip(plain.model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_run_follows_from_its_seed():
    weights = []
    for seed in (0, 0, 1):
        one = run(seed=seed)
        list(one.epoch())
        weights.append(one.model.embedding.weight.detach())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_targets_that_are_none_have_no_part_in_a_chunked_loss():
    tokens = torch.randint(2, 20, (3, 8))
    targets = torch.where(torch.rand(3, 8) < 0.4, tokens, IGNORED)
    targets[0] = IGNORED
    batch = WordBatch(tokens, targets)
    whole, chunked = run(carry=False).loss(batch), run(carry=False, output_chunks=5).loss(batch)
    torch.testing.assert_close(whole, chunked)


class FakeGraph:
    """Records nothing and counts its replays."""

    made: list = []  # noqa: RUF012

    def __init__(self):
        self.replays = 0
        self.made.append(self)

    def replay(self):
        self.replays += 1


def test_a_recorded_step_is_recorded_once_a_shape_and_fed_by_copies(monkeypatch):
    made = []
    monkeypatch.setattr(FakeGraph, "made", made)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", FakeGraph)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: SimpleNamespace(wait_stream=lambda other: None))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(wait_stream=lambda other: None))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "graph", lambda graph: contextlib.nullcontext())
    steps = []
    graphed = GraphedStep(steps.append)
    first, second, other = (
        WordBatch(torch.full((2, n), k), torch.full((2, n), k)) for n, k in ((5, 1), (5, 2), (7, 3))
    )
    for batch in (first, second, other):
        graphed(batch)
    assert [graph.replays for graph in made] == [2, 1]
    assert len(steps) == 2 * 4  # three before the recording, and the recorded one
    assert steps[0].tokens.data_ptr() != first.tokens.data_ptr()
    assert steps[0].tokens.eq(2).all()  # the last batch of that shape
    assert first.tokens.eq(1).all()


def test_the_clock_stands_still_while_the_quality_is_looked_at():
    one, worked = run(), []
    start = time.perf_counter()
    for seconds in one.epoch(every=2):
        worked.append(seconds)
        time.sleep(0.02)
    assert len(worked) == -(-len(one.batches) // 2)  # and once at the end
    assert worked == sorted(worked)
    assert worked[-1] <= time.perf_counter() - start - 0.02 * len(worked)


def test_training_stops_where_the_target_is_reached():
    qualities = iter([9.0, 7.0, 5.0, 4.0, 3.0, 2.0])
    toy = replace(task(), judge=lambda model: next(qualities))
    way = train(toy, toy.slow, 0, CPU, looks=6, target=5.0)
    assert way["quality"] == 5.0
    assert way["seconds"] == way["curve"][-1][0]
    assert [quality for _, quality in way["curve"]] == [9.0, 7.0, 5.0]


def test_a_slow_version_is_billed_until_it_is_first_as_good_as_at_its_end():
    curve = [(1.0, 90.0), (2.0, 70.0), (3.0, 75.0), (4.0, 70.0)]
    assert time_to(task(), curve, 70.0) == 2.0
    assert time_to(task(), curve, 60.0) is None
    assert time_to(replace(task(), quality="accuracy"), curve, 90.0) == 1.0


def test_higher_is_better_for_an_accuracy():
    toy = replace(task(), quality="accuracy")
    assert toy.reached(0.8, 0.7)
    assert not toy.reached(0.6, 0.7)
    assert toy.best({1: 0.3, 2: 0.4}) == 2
    assert task().best({1: 0.3, 2: 0.4}) == 1


def test_a_rate_at_which_training_falls_apart_is_never_the_best():
    assert task().best({1: float("nan"), 2: 0.4, 3: float("inf")}) == 2
    with pytest.raises(RuntimeError, match="no learning rate"):
        task().best({1: float("nan")})


def test_a_rung_takes_the_changes_of_all_rungs_below_it():
    first = Rung("a", "", "slow", {"cell": "gru"})
    second = Rung("b", "", "a", {"softmax": "adaptive"})
    assert task(first, second).recipe("b") == Recipe(cell="gru", softmax="adaptive")


def test_a_failing_rung_is_recorded_with_its_reason_and_the_rest_go_on(tmp_path):
    toy = task(
        Rung("broken", "no such layer", "slow", {"cell": "none such"}, kept=False),
        Rung("far away", "on another machine", "slow", {}, kept=False, needs="cuda"),
        Rung("final", "a backward by hand", "slow", {"cell": "fast rnn"}, same=True),
        looks=2,
    )
    keeper = recorder(tmp_path / "m.json")
    climb(toy, keeper, CPU, 1)
    parts = json.loads((tmp_path / "m.json").read_text())["studies"]["toy"]
    assert parts["first call of broken"] == {"status": "failed", "reason": "KeyError: 'none such'"}
    assert parts["first call of far away"]["status"] == "needs hardware"
    assert set(parts["speed"]) == {"slow", "final"}
    assert parts["speed"]["slow"]["ratio"] == 1
    assert parts["sameness of final"]["loss_difference"] < 1e-5
    assert parts["sameness of final"]["gradient_difference"] < 1e-5
    assert parts["sameness of final"]["weight_difference_after_a_step"] < 1e-4
    assert 0 < parts["products of final"]["fraction"] < 1.5
    assert parts["first call of slow"]["peak_mebibytes"] > 0
    assert "quality of final" in parts
    assert "in turns, seed 1" in parts


def test_a_part_that_is_done_is_not_done_again(tmp_path):
    calls = []
    recorder(tmp_path / "m.json").part("toy", "a", lambda: calls.append(1))
    recorder(tmp_path / "m.json", resume=True).part("toy", "a", lambda: calls.append(1))
    assert calls == [1]


def test_a_part_that_failed_is_tried_again(tmp_path):
    results = iter([OSError("full"), 3])

    def work():
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    assert recorder(tmp_path / "m.json").part("toy", "a", work, may_fail=True)["status"] == "failed"
    assert recorder(tmp_path / "m.json", resume=True).part("toy", "a", work, may_fail=True) == 3


def test_a_number_that_is_not_finite_is_null_in_the_file(tmp_path):
    keeper = recorder(tmp_path / "m.json")
    assert keeper.part("toy", "a", lambda: {"peak": float("nan"), "all": (1.0, float("inf"))}) == {
        "peak": None,
        "all": [1.0, None],
    }
    assert "NaN" not in (tmp_path / "m.json").read_text()


def test_a_study_on_other_data_is_not_resumed(tmp_path):
    keeper = recorder(tmp_path / "m.json")
    keeper.part("toy", "facts", lambda: {"data": "another file"})
    with pytest.raises(RecordError, match="on other data"):
        climb(task(), keeper, CPU, 1)


def test_without_the_slow_version_nothing_is_compared(tmp_path):
    toy = replace(task(), rungs=(Rung("slow", "on another machine", None, {}, needs="cuda"),))
    with pytest.raises(RuntimeError, match="nothing to compare"):
        climb(toy, recorder(tmp_path / "m.json"), CPU, 1)


def test_a_rung_that_should_compile_fails_where_no_compiler_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(torch, "__file__", "/folder/torch/__init__.py")
    rungs = Rung("compiled", "", "slow", {"compile": "output"}, True, False), Rung("final", "", "slow", {}, True)
    toy = task(*rungs, looks=2)
    keeper = recorder(tmp_path / "m.json")
    climb(toy, keeper, CPU, 1)
    assert "C++ compiler" in keeper.record["studies"]["toy"]["first call of compiled"]["reason"]


def test_a_study_that_fails_is_named_and_the_next_begins(tmp_path, capsys, monkeypatch):
    def broken(*arguments):
        raise MemoryError("too large")

    monkeypatch.setattr("helpers.studies.layers_study", broken)
    monkeypatch.setattr("helpers.studies.memory_study", lambda keeper, *rest: keeper.part("memory", "a", lambda: 1))
    keeper = recorder(tmp_path / "m.json")
    measure_studies(("layers", "memory"), keeper, CPU, 1)
    assert "layers failed and is left: MemoryError: too large" in capsys.readouterr().err
    assert keeper.record["studies"]["memory"] == {"a": 1}


def test_what_was_done_survives_a_stop(tmp_path):
    def stopped():
        raise KeyboardInterrupt

    keeper = recorder(tmp_path / "m.json")
    keeper.part("toy", "a", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        keeper.part("toy", "b", stopped, may_fail=True)
    assert json.loads((tmp_path / "m.json").read_text())["studies"] == {"toy": {"a": 1}}


def test_nothing_begins_when_the_seconds_are_spent(tmp_path):
    with pytest.raises(BudgetSpentError):
        recorder(tmp_path / "m.json", seconds=-1).part("toy", "a", lambda: 1)


def test_a_file_that_is_there_is_not_written_over(tmp_path):
    recorder(tmp_path / "m.json")
    with pytest.raises(RecordError, match="--resume"):
        recorder(tmp_path / "m.json")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"summary": {}}', "\xff"])
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, content):
    path = tmp_path / "m.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(RecordError, match=r"m\.json"):
        recorder(path, resume=True)
    assert path.read_text(encoding="latin-1") == content


def test_measurements_of_other_settings_are_not_mixed(tmp_path):
    recorder(tmp_path / "m.json")
    with pytest.raises(RecordError, match="repeats 1, here it is 2"):
        recorder(tmp_path / "m.json", resume=True, repeats=2)


def test_the_summary_has_every_figure_with_its_spread_and_null_where_nothing_was_measured():
    empty = summary({})
    assert list(empty) == [key for name in SUMMARY for key in (name, f"{name}_spread")]
    assert set(empty.values()) == {None}


def test_the_summary_takes_the_median_over_seeds_and_refuses_one_that_never_got_there():
    turns = {f"in turns, seed {k}": {"ratio": r, "ratio_from_article_settings": 9.0} for k, r in enumerate((8, 12, 10))}
    found = summary({"dialogue": turns})
    assert found["dialogue_time_to_equal_perplexity_ratio"] == 10
    assert found["dialogue_time_to_equal_perplexity_ratio_spread"] == 4
    one = summary({"dialogue": {"in turns, seed 1": {"ratio": 8, "ratio_from_article_settings": 9.0}}})
    assert one["dialogue_time_to_equal_perplexity_ratio_spread"] is None  # a single run has no range
    turns["in turns, seed 1"]["ratio"] = None
    assert summary({"dialogue": turns})["dialogue_time_to_equal_perplexity_ratio"] is None


def test_the_products_of_a_step_are_counted_right():
    model = WordModel(1000, cell="lstm", embedding_size=10, hidden_size=20)
    tokens = torch.zeros(4, 7, dtype=torch.int64)
    targets = torch.full((4, 7), IGNORED)
    targets[:, :3] = 5  # 12 of 28 steps have a target
    layer = 3 * 2 * 28 * (10 + 20) * 80  # forward, and two products backward
    for everywhere, rows in ((True, 28), (False, 12)):
        _, operations = product_calls(model, WordBatch(tokens, targets), everywhere=everywhere)
        assert operations == layer + 3 * 2 * rows * 20 * 1000


def test_the_products_of_an_adaptive_softmax_follow_its_clusters():
    model = WordModel(1000, softmax="adaptive", embedding_size=10, hidden_size=20)
    low, high, _ = model.output.cutoffs
    tokens, targets = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[1, low, high]])
    _, operations = product_calls(model, WordBatch(tokens, targets), everywhere=True)
    layer = 3 * 2 * 3 * (10 + 20) * 20
    head = 3 * 2 * 3 * 20 * (low + 2)
    tails = 3 * 2 * (20 * 5 + 5 * (high - low)) + 3 * 2 * (20 * 1 + 1 * (1000 - high))
    assert operations == layer + head + tails


def test_the_exponent_of_a_quadratic_time_is_two():
    lengths = (64, 128, 256)
    rows = [Measurement(0, 0, 0, 0, 2, 1, 1, "cpu", (length**2 * 1e-6, length**2 * 2e-6)) for length in lengths]
    assert exponents(lengths, rows)["median"] == pytest.approx(2)
    assert exponents(lengths, rows)["spread"] == pytest.approx(0)


def test_batches_lie_evenly_over_the_examples():
    assert evenly(100, 10, 4) == [slice(10, 20), slice(30, 40), slice(60, 70), slice(80, 90)]
    assert evenly(100, 10, 1) == [slice(0, 10)]


def test_an_int8_output_layer_says_nearly_the_same_scores():
    torch.manual_seed(0)
    model = WordModel(50, embedding_size=6, hidden_size=8)
    hidden = torch.randn(5, 8)
    small = quantized(model)
    assert small.log_probabilities(hidden).sub(model.log_probabilities(hidden)).abs().max() < 0.05
    assert isinstance(model.output, nn.Linear)


@pytest.fixture
def no_public_data(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setattr("helpers.corpora.sources.DOWNLOADS", tmp_path)

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)


def test_without_public_data_the_tasks_take_the_courses_own_and_say_so(no_public_data, capsys):
    dialogues, prompts = dialogue_task()
    assert dialogues.facts["data"] == "dialogues.txt"
    assert len(prompts) == dialogues.facts["test_exchanges"]
    assert language_task().facts["data"] == "Python's manual and docstrings"
    said = capsys.readouterr().out
    assert "the course's own dialogues are taken" in said
    assert "Python's own manual is taken" in said


def test_rungs_of_the_dialogue_task_share_examples_where_they_are_compared(no_public_data):
    dialogues, _ = dialogue_task()
    slow, buckets = dialogues.recipe("the article's loop"), dialogues.recipe("buckets")
    (fixed,), (padded) = dialogues.sample(slow, 1), dialogues.sample(buckets, 1)[0]
    assert fixed.tokens.shape == (32, 50)
    assert torch.equal(fixed.tokens[:, : padded.tokens.size(1)], padded.tokens)
    assert len(dialogues.sample(buckets, 4)) == 4


def test_measure_reports_what_it_cannot_use(tmp_path, capsys):
    assert command_line.main(["measure", "--data", str(tmp_path / "none")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    (tmp_path / "m.json").write_text("{")
    assert command_line.main(["measure", "--out", str(tmp_path / "m.json"), "--resume"]) == 2
    assert "cannot be read as measurements" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command_line.main(["measure", "--study", "everything"])


def test_a_file_of_headlines_is_refused_by_a_study_that_wants_a_folder(tmp_path, capsys):
    (tmp_path / "h.tsv").write_text("a headline\tpositive\n")
    assert command_line.main(["measure", "--study", "dialogue", "--data", str(tmp_path / "h.tsv")]) == 2
    assert "wants a folder" in capsys.readouterr().err


def test_measure_with_its_seconds_spent_writes_a_summary_of_nulls(tmp_path, capsys, monkeypatch):
    out = tmp_path / "m.json"
    monkeypatch.setattr("time.monotonic", iter([0.0, *[1e9] * 99]).__next__)
    assert (
        command_line.main(["measure", "--study", "layers", "--out", str(out), "--budget-seconds", "1", "--json"]) == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert "the seconds for measuring are spent; go on with --resume" in said
    assert json.loads(said[-1]) == json.loads(out.read_text())["summary"] == summary({})


def test_measure_stopped_by_ctrl_c_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("helpers.studies.layers_study", stopped)
    out = tmp_path / "m.json"
    assert command_line.main(["measure", "--study", "layers", "--out", str(out)]) == 130
    assert f"go on with --out {out} --resume" in capsys.readouterr().err
    assert out.exists()
