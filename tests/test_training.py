"""Fit, evaluate, baselines and checkpoints."""

import math
import os
import signal
import subprocess
import sys

import pytest
import torch
from torch import nn

from helpers import checkpoints, training
from helpers.batching import Batch, batches
from helpers.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from helpers.corpora import Headline
from helpers.models import TextClassifier


def examples(count):
    """Texts of two to five tokens; the label says whether token 2 is among them."""
    generator = torch.Generator().manual_seed(0)
    texts = [
        torch.randint(2, 12, (int(n),), generator=generator).tolist()
        for n in torch.randint(2, 6, (count,), generator=generator)
    ]
    return [(text, int(2 in text)) for text in texts]


def small(seed=0, dropout=0.3):
    torch.manual_seed(seed)
    return TextClassifier(12, 2, embedding_size=8, hidden_size=8, dropout=dropout)


def run(model, epochs, **options):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loader = batches(examples(40), 8, shuffle=True)
    return training.fit(model, loader, optimizer=optimizer, epochs=epochs, **options), optimizer


def same(first, second):
    return all(
        torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    )


def test_a_history_is_plain_floats_and_the_loss_falls():
    history, _ = run(small(), 5, test_batches=batches(examples(20), 8))
    for values in vars(history).values():
        assert [type(value) for value in values] == [float] * 5
    assert history.train_loss[-1] < history.train_loss[0]


def test_the_train_loss_counts_every_example_once():
    """One batch of 3 and one of 1: their mean weighted by size, not the mean of the two."""
    model = small(dropout=0)
    data = examples(4)
    expected = training.evaluate(model, batches(data, 4)).loss
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    history = training.fit(model, batches(data, 3), optimizer=optimizer, epochs=1)
    assert history.train_loss[0] == pytest.approx(expected, rel=1e-6)


def test_gradients_are_clipped_and_their_norm_is_kept_as_it_was_before():
    model = small(dropout=0)
    for parameter in model.fc.parameters():
        parameter.data *= 100
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    history = training.fit(model, batches(examples(8), 8), optimizer=optimizer, epochs=1, clip=0.5)
    step = math.sqrt(sum((value - before[name]).square().sum().item() for name, value in model.state_dict().items()))
    assert history.gradient_norm[0] > 1
    assert step == pytest.approx(0.5, rel=1e-3)


def test_the_hot_loop_asks_the_device_for_nothing(monkeypatch):
    asked = []
    item = torch.Tensor.item
    monkeypatch.setattr(torch.Tensor, "item", lambda self: (asked.append(1), item(self))[1])
    monkeypatch.setattr(torch.Tensor, "tolist", lambda self, f=torch.Tensor.tolist: (asked.append(1), f(self))[1])
    loader = [Batch(torch.ones(1, 2, dtype=torch.int64), torch.tensor([2]), torch.tensor([0]))] * 40
    model = small()
    training.fit(model, loader, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), epochs=1)
    assert len(asked) <= 4


@pytest.mark.parametrize("bad_step", [3, 150])
def test_a_loss_that_is_not_finite_is_named_by_epoch_and_step(bad_step):
    class Bursts(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.calls = 0

        def forward(self, tokens, lengths):
            self.calls += 1
            factor = float("nan") if self.calls == bad_step else 1.0
            return torch.stack([self.weight * factor, -self.weight], dim=1)

    model = Bursts()
    loader = [Batch(torch.ones(1, 1, dtype=torch.int64), torch.tensor([1]), torch.tensor([0]))] * 160
    with pytest.raises(FloatingPointError, match=f"epoch 1, step {bad_step}:"):
        training.fit(model, loader, optimizer=torch.optim.SGD(model.parameters(), lr=0.0), epochs=1)


def test_nothing_goes_to_standard_error_in_a_log_and_every_epoch_has_its_line(capsys):
    run(small(), 2, test_batches=batches(examples(8), 8))
    captured = capsys.readouterr()
    assert captured.err == ""
    assert [line.split(":")[0] for line in captured.out.splitlines()] == ["epoch 1/2", "epoch 2/2"]
    assert "test accuracy" in captured.out


def test_evaluation_puts_every_mode_back_and_gives_the_same_twice():
    model = small(dropout=0.5)
    model.train()
    model.embedding.eval()
    loader = batches(examples(30), 8)
    first, second = training.evaluate(model, loader), training.evaluate(model, loader)
    assert first.loss == second.loss
    assert model.training
    assert not model.embedding.training


def test_evaluation_puts_the_mode_back_after_an_error():
    model = small()
    with pytest.raises(IndexError):
        training.evaluate(model, batches([([99], 0)], 1))
    assert model.training


def test_evaluation_counts_every_example_once():
    model, data = small(), examples(2500)
    result = training.evaluate(model, batches(data, 64))
    assert len(result.labels) == len(result.predictions) == 2500
    assert result.accuracy == pytest.approx((result.predictions == result.labels).double().mean().item())
    assert result.loss == pytest.approx(training.evaluate(model, batches(data, 2500)).loss, rel=1e-5)
    assert torch.allclose(result.probabilities.sum(1), torch.ones(2500))


def test_the_same_seed_gives_the_same_weights_bit_for_bit():
    first, second, other = small(), small(), small()
    run(first, 2, seed=3)
    run(second, 2, seed=3)
    run(other, 2, seed=4)
    assert same(first, second)
    assert not same(first, other)


@pytest.mark.parametrize("ended_after", [1, 3])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(tmp_path, ended_after):
    whole, stopped, resumed = small(), small(), small(seed=99)
    run(whole, 4, checkpoint=tmp_path / "whole")
    run(stopped, ended_after, checkpoint=tmp_path / "run")
    history, _ = run(resumed, 4, checkpoint=tmp_path / "run", resume=True)
    assert same(whole, resumed)
    assert len(history.train_loss) == 4


def test_a_run_stopped_in_the_middle_of_an_epoch_resumes_from_its_start(tmp_path):
    whole, stopped, resumed = small(), small(), small()
    run(whole, 3)
    calls = []

    def interrupt(*_):
        calls.append(1)
        if len(calls) == 8:  # in the second epoch of five batches
            raise KeyboardInterrupt

    handle = stopped.register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(stopped, 3, checkpoint=tmp_path / "run")
    handle.remove()
    run(resumed, 3, checkpoint=tmp_path / "run", resume=True)
    assert same(whole, resumed)


def test_resuming_from_nothing_says_so(tmp_path, capsys):
    run(small(), 1, checkpoint=tmp_path / "none", resume=True)
    assert "nothing to resume" in capsys.readouterr().out


def test_a_checkpoint_of_another_run_is_refused_by_what_differs(tmp_path):
    run(small(), 1, checkpoint=tmp_path / "run", facts={"data": "abc"})
    with pytest.raises(CheckpointError, match="data is 'abc' there and 'xyz' here"):
        run(small(), 2, checkpoint=tmp_path / "run", resume=True, facts={"data": "xyz"})
    with pytest.raises(CheckpointError, match="seed is 0 there and 1 here"):
        run(small(), 2, checkpoint=tmp_path / "run", resume=True, facts={"data": "abc"}, seed=1)


def test_a_checkpoint_holds_data_versions_and_seed(tmp_path):
    model = small()
    run(model, 1, checkpoint=tmp_path / "run", facts={"data": "abc"}, seed=5)
    content = load_checkpoint(tmp_path / "run", small())
    assert content["facts"] == {"data": "abc", "seed": 5}
    assert content["versions"] == {"python": ".".join(map(str, sys.version_info[:3])), "torch": torch.__version__}
    assert [len(values) for values in content["history"].values()] == [1, 1, 1, 0, 0]


def saved(path, model=None):
    model = small() if model is None else model
    save_checkpoint(path, model, torch.optim.Adam(model.parameters()), {})
    return model


def wrapped(model):
    holder = nn.Module()
    holder.module = torch.compile(model, backend="eager")
    return holder


def test_names_are_free_of_what_compiling_and_ddp_add(tmp_path):
    model = small()
    for number, wrapper in enumerate((torch.compile(model, backend="eager"), wrapped(model))):
        saved(tmp_path / str(number), wrapper)
        content = torch.load(tmp_path / str(number), weights_only=True)
        assert list(content["model"]) == list(model.state_dict())
        fresh, compiled = small(seed=1), torch.compile(small(seed=1), backend="eager")
        load_checkpoint(tmp_path / str(number), fresh)
        load_checkpoint(tmp_path / str(number), compiled)
        assert same(fresh, model)
        assert same(compiled, model)


def test_a_submodule_that_was_compiled_is_saved_under_its_own_name(tmp_path):
    model = small()
    names = list(model.state_dict())
    model.fc = torch.compile(model.fc, backend="eager")
    saved(tmp_path / "run", model)
    assert list(torch.load(tmp_path / "run", weights_only=True)["model"]) == names


def test_loading_runs_no_code_and_lands_on_the_cpu(tmp_path, monkeypatch):
    saved(tmp_path / "run")
    options = {}
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda path, **kw: (options.update(kw), load(path, **kw))[1])
    load_checkpoint(tmp_path / "run", small())
    assert options == {"map_location": "cpu", "weights_only": True}


class Harmful:
    def __reduce__(self):
        return print, ("code from a file was run",)


@pytest.mark.parametrize("damage", ["cut short", "empty", "text", "harmful", "other content", "missing"])
def test_a_file_that_is_no_whole_checkpoint_is_refused_by_its_name(tmp_path, damage, capsys):
    path = tmp_path / "run"
    saved(path)
    if damage == "cut short":
        path.write_bytes(path.read_bytes()[:-500])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("no checkpoint")
    elif damage == "harmful":
        torch.save({"model": Harmful()}, path)
    elif damage == "other content":
        torch.save([1, 2], path)
    else:
        path.unlink()
    with pytest.raises(CheckpointError, match=str(path)):
        load_checkpoint(path, small())
    assert "code from a file" not in capsys.readouterr().out


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    saved(tmp_path / "run")
    with pytest.raises(CheckpointError, match="does not fit this model"):
        load_checkpoint(tmp_path / "run", TextClassifier(12, 2, hidden_size=9))


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_while_writing_leaves_the_old_checkpoint_and_nothing_else(tmp_path, monkeypatch, fault):
    path = tmp_path / "run"
    model = saved(path)

    def fail(handle):
        raise fault

    monkeypatch.setattr(checkpoints.os, "fsync", fail)
    with pytest.raises(type(fault)):
        saved(path, small(seed=1))
    monkeypatch.undo()
    fresh = small(seed=2)
    load_checkpoint(path, fresh)
    assert same(fresh, model)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of a file's size")
def test_a_disk_that_is_full_is_an_os_error_that_names_the_reason(tmp_path):
    import resource

    path = tmp_path / "run"
    model = saved(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        with pytest.raises(OSError, match="File too large"):
            saved(path, small(seed=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    fresh = small(seed=2)
    load_checkpoint(path, fresh)
    assert same(fresh, model)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def damaged(path, damage):
    content = bytearray(path.read_bytes())
    if damage == "cut short":
        content = content[:-500]
    else:
        middle = content.index(next(iter(small().state_dict().values())).numpy().tobytes()[:64])
        content[middle + 9] ^= 1  # one bit of one weight: torch.load alone reads over it
    path.write_bytes(content)


@pytest.mark.parametrize("damage", ["cut short", "one bit"])
def test_a_damaged_checkpoint_is_named_and_the_previous_one_used(tmp_path, damage, capsys):
    path = tmp_path / "run"
    before = saved(path, small(seed=1))
    saved(path, small())
    damaged(path, damage)
    fresh = small(seed=2)
    load_checkpoint(path, fresh)
    assert same(fresh, before)
    said = capsys.readouterr().err
    assert said.startswith(f"{path}: damaged")
    assert said.endswith(f"{path}.previous is used instead\n")


def test_a_changed_bit_is_refused_where_there_is_no_previous_checkpoint(tmp_path):
    saved(tmp_path / "run")
    damaged(tmp_path / "run", "one bit")
    with pytest.raises(CheckpointError, match="is not what was written"):
        load_checkpoint(tmp_path / "run", small())


def test_a_checkpoint_of_another_model_is_named_and_the_previous_one_used(tmp_path, capsys):
    path = tmp_path / "run"
    before = saved(path)
    saved(path, TextClassifier(12, 2, hidden_size=9))
    fresh = small(seed=2)
    load_checkpoint(path, fresh)
    assert same(fresh, before)
    assert "does not fit this model in embedding.weight" in capsys.readouterr().err


def test_a_kill_between_moving_the_old_and_the_new_file_is_survived(tmp_path, capsys):
    path = tmp_path / "run"
    model = saved(path)
    path.rename(tmp_path / "run.previous")
    fresh = small(seed=2)
    load_checkpoint(path, fresh)
    assert same(fresh, model)
    assert capsys.readouterr().err == f"{path}: missing; {path}.previous is used instead\n"


def test_two_checkpoints_are_kept(tmp_path):
    for seed in range(3):
        saved(tmp_path / "run", small(seed=seed))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run.previous"]
    last, before = small(seed=9), small(seed=9)
    load_checkpoint(tmp_path / "run", last)
    load_checkpoint(tmp_path / "run.previous", before)
    assert same(last, small(seed=2))
    assert same(before, small(seed=1))


def test_checkpoints_of_an_earlier_run_are_set_aside_both(tmp_path):
    path = tmp_path / "run"
    assert checkpoints.set_aside(path) is None
    saved(path)
    saved(path)
    assert checkpoints.set_aside(path) == tmp_path / "run.earlier"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.earlier", "run.earlier.previous"]


def headlines(*pairs):
    return [Headline(text, label, line) for line, (text, label) in enumerate(pairs, start=1)]


def test_the_majority_is_that_of_the_training_set():
    train = headlines(("a", "x"), ("b", "x"), ("c", "y"))
    assert training.majority(train) == "x"


def test_the_bag_of_words_learns_words_and_no_order():
    train = headlines(*[(f"good day {n}", "x") for n in "abcdef"], *[(f"bad day {n}", "y") for n in "ghijkl"])
    test = headlines(("a good thing", "x"), ("thing a good", "x"), ("a bad thing", "y"))
    assert training.bag_of_words(train, test[:3]) == ["x", "x", "y"]


def test_training_alone_needs_no_scikit_learn():
    program = "import sys, helpers.training; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
