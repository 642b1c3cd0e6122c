"""Several processes compute what one computes, each example is counted once, and failures are told and left nowhere."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
import torch
from torch import nn

from helpers import launching
from helpers.batching import Batch
from helpers.distributed import (
    ALONE,
    EvaluationShare,
    Ranks,
    _attempt,
    batch_share,
    distribute,
    local_device,
    process_group,
    training_share,
    unused_parameters,
)
from helpers.launching import LaunchError, launch, left_behind
from helpers.models import TextClassifier
from helpers.training import _train_epoch, evaluate
from notebooks import ROOT


def run(name, *arguments, **options):
    return json.loads(launch("helpers.workers", name, *arguments, **options).splitlines()[-1])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-5)])
@pytest.mark.parametrize("way", ["by_hand", "by_ddp"])
def test_gradients_of_two_processes_are_those_of_one(way, dtype, tolerance):
    assert run(way, dtype) <= tolerance


def test_each_process_has_the_threads_it_was_given():
    assert run("hello", threads=1) == ["rank 0 of 2, threads: 1", "rank 1 of 2, threads: 1"]


def test_join_lets_ranks_have_different_numbers_of_batches():
    assert run("uneven", "join") == [5, 6]


def test_a_rank_that_waits_in_vain_ends_with_an_error_and_its_own_traceback():
    start = time.monotonic()
    with pytest.raises(LaunchError, match=r"(?s)rank 1 says.*Traceback.*in uneven.*(Timed out|timed out)"):
        run("uneven", "wait")
    assert time.monotonic() - start < 60


def test_gradients_cross_once_with_no_sync_and_are_the_same():
    result = run("accumulation")
    assert (result["each batch"], result["no_sync"]) == (4, 1)
    assert result["largest difference"] < 1e-6


def test_a_killed_worker_is_started_again_and_the_weights_are_the_same_to_the_bit(tmp_path):
    undisturbed = run("killed", str(tmp_path / "whole"), "live", restarts=1)
    disturbed = run("killed", str(tmp_path / "killed"), "die", restarts=1)
    assert undisturbed == {"restarts": 0, "epochs of the last attempt": 6}
    assert disturbed == {"restarts": 1, "epochs of the last attempt": 3}
    whole, killed = (
        torch.load(tmp_path / name / "run.checkpoint", weights_only=True)["model"] for name in ("whole", "killed")
    )
    assert list(whole) == list(killed)
    assert all(torch.equal(whole[name], killed[name]) for name in whole)


@pytest.mark.parametrize("module", [lambda rank: None, "helpers.no_such_module"])
def test_what_another_process_cannot_import_is_refused(module):
    with pytest.raises(ValueError, match="is no module that another process can import"):
        launch(module)


@pytest.fixture
def runs(monkeypatch):
    """The identifiers of the runs that are started in a test."""
    seen, ended = [], launching._end
    monkeypatch.setattr(launching, "_end", lambda process, run: (seen.append(run), ended(process, run)))
    return seen


def test_a_run_that_takes_too_long_is_ended_and_leaves_no_process(runs):
    with pytest.raises(LaunchError, match="took longer than 8 s"):
        run("uneven", "wait", seconds=8)
    assert len(runs) == 1
    assert left_behind(runs[0]) == []


def test_ctrl_c_ends_the_workers_too(runs):
    threading.Timer(8, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run("uneven", "wait")
    assert left_behind(runs[0]) == []


def test_workers_that_torchrun_left_are_found_by_the_run_and_ended(runs):
    """The launcher is killed and can end no one; its workers have sessions of their own."""

    def kill_torchrun():
        for child in psutil.Process().children():
            if "torch.distributed.run" in child.cmdline():
                child.kill()

    threading.Timer(8, kill_torchrun).start()
    with pytest.raises(LaunchError):
        run("uneven", "wait")
    assert left_behind(runs[0]) == []


def test_the_same_command_runs_alone_and_in_two_processes_with_the_same_training(tmp_path):
    lines = [f"the market rises on day {n}\tup\nthe market falls on day {n}\tdown" for n in range(60)]
    (tmp_path / "headlines.tsv").write_text("\n".join(lines) + "\n")
    command = ["-m", "helpers", "train", "--data", str(tmp_path / "headlines.tsv"), "--epochs", "2", "--json"]
    alone = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, cwd=ROOT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    both = subprocess.run([*torchrun, *command], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "2 processes share each batch of 32" in both.stdout
    assert len(both.stdout.splitlines()) == len(alone.stdout.splitlines()) + 1, "rank 0 alone prints"
    one, two = (json.loads(done.stdout.splitlines()[-1]) for done in (alone, both))
    assert one["examples"] == two["examples"] == 120
    assert one["bag_of_words_accuracy"] == two["bag_of_words_accuracy"]


def test_alone_a_process_is_rank_0_of_1_and_needs_no_group(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with process_group(torch.device("cpu")) as ranks:
        assert ranks == ALONE
        assert ranks.first
        assert ranks.total(torch.tensor([3.0])).item() == 3
        assert ranks.gathered([1, 2]) == [1, 2]
        assert ranks.from_first(lambda: "read") == "read"


def test_training_shares_are_equal_repeat_what_is_missing_and_change_with_the_epoch():
    shares = [training_share(range(10), Ranks(rank, 4), seed=0) for rank in range(4)]
    first = [list(share) for share in shares]
    assert [len(share) for share in first] == [3, 3, 3, 3]
    assert {place for share in first for place in share} == set(range(10))
    assert [list(share) for share in shares] == first, "without set_epoch the order stays"
    for share in shares:
        share.set_epoch(1)
    assert [list(share) for share in shares] != first


def test_the_ranks_steps_together_take_the_batches_of_one_process():
    def steps(world_size):
        shares = [list(training_share(range(96), Ranks(rank, world_size), seed=3)) for rank in range(world_size)]
        size = batch_share(32, Ranks(0, world_size))
        return [{place for share in shares for place in share[k * size : (k + 1) * size]} for k in range(3)]

    assert steps(1) == steps(2) == steps(4)


def test_evaluation_shares_have_each_example_once():
    shares = [list(EvaluationShare(range(10), Ranks(rank, 4))) for rank in range(4)]
    assert sorted(place for share in shares for place in share) == list(range(10))
    assert [len(share) for share in shares] == [3, 3, 2, 2]
    assert list(EvaluationShare(range(1), Ranks(3, 4))) == []


def test_a_batch_that_cannot_be_shared_is_refused():
    assert batch_share(32, Ranks(0, 4)) == 8
    with pytest.raises(ValueError, match="a batch of 32 cannot be shared by 3 processes"):
        batch_share(32, Ranks(0, 3))


class WithDeadLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.a(x)


def test_unused_parameters_are_named():
    model, x = WithDeadLayer(), torch.randn(2, 3)
    assert unused_parameters(model, model(x).sum()) == ["b.weight", "b.bias"]
    assert unused_parameters(model.a, model.a(x).sum()) == []
    model.b.requires_grad_(False)
    assert unused_parameters(model, model(x).sum()) == [], "frozen parameters need no gradient"


def test_unused_parameters_are_refused_before_the_first_step():
    model, x = WithDeadLayer(), torch.randn(2, 3)
    with pytest.raises(ValueError, match=r"does not depend on b\.weight, b\.bias"):
        distribute(model, lambda model: model(x).sum(), torch.device("cpu"), Ranks(0, 2))
    assert distribute(model, lambda model: model(x).sum(), torch.device("cpu"), ALONE) is model


def test_half_of_a_bidirectional_output_uses_all_parameters():
    """DDP does not stumble over it, since both directions run in one layer."""
    rnn = nn.RNN(3, 4, bidirectional=True)
    assert unused_parameters(rnn, rnn(torch.randn(5, 2, 3))[0].sum()) == []


def test_each_rank_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for name, value in (("RANK", "5"), ("WORLD_SIZE", "8"), ("MASTER_ADDR", "here"), ("MASTER_PORT", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert local_device() == local_device("cuda") == "cuda:1"
    assert local_device("cpu") == "cpu"
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match="2 GPUs here"):
        local_device()


def test_several_hosts_with_restarts_are_refused_while_torchrun_keeps_its_store(monkeypatch):
    for name, value in (("USE_AGENT_STORE", "True"), ("MAX_RESTARTS", "3"), ("RESTART_COUNT", "1")):
        monkeypatch.setenv(f"TORCHELASTIC_{name}", value)
    monkeypatch.setenv("GROUP_WORLD_SIZE", "1")
    assert _attempt() == "attempt 1", "on one host each attempt has a name of its own"
    monkeypatch.setenv("GROUP_WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"):
        _attempt()
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "False")
    assert _attempt() == "attempt 1"


def small_batches(count, size=8):
    generator = torch.Generator().manual_seed(0)
    return [
        Batch(
            torch.randint(1, 12, (size, 5), generator=generator),
            torch.full((size,), 5),
            torch.randint(2, (size,), generator=generator),
        )
        for _ in range(count)
    ]


def weights_after(batches, accumulate):
    torch.manual_seed(0)
    model = TextClassifier(12, 2, dropout=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    _train_epoch(model, batches, optimizer, torch.device("cpu"), 1e9, 1, accumulate, ALONE)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def joined(batches):
    return Batch(*(torch.cat(parts) for parts in zip(*batches, strict=True)))


def test_accumulating_batches_is_a_step_with_the_larger_batch():
    small = small_batches(4)
    larger = [joined(small[:2]), joined(small[2:])]
    torch.testing.assert_close(weights_after(small, 2), weights_after(larger, 1), atol=1e-5, rtol=0)


def test_an_unfinished_group_of_batches_weighs_its_own_examples():
    """Three batches by twos: the last step has one batch, and its whole gradient."""
    small = small_batches(3)
    larger = [joined(small[:2]), small[2]]
    torch.testing.assert_close(weights_after(small, 2), weights_after(larger, 1), atol=1e-5, rtol=0)


def test_accuracy_over_ranks_counts_examples_and_not_ranks(monkeypatch):
    """Nine of ten right on one rank and one of two on the other are ten of twelve."""
    batch = small_batches(1, size=12)[0]

    class Oracle(nn.Module):
        def forward(self, tokens, lengths):
            right = nn.functional.one_hot(wanted[tokens[:, 0]], 2).float()
            return right

    wanted = torch.zeros(12, dtype=torch.int64)
    tokens = torch.arange(12).repeat(5, 1).T
    labels = torch.zeros(12, dtype=torch.int64)
    labels[[3, 11]] = 1
    parts = [Batch(tokens[part], batch.lengths[part], labels[part]) for part in (slice(0, 10), slice(10, 12))]
    gathered = []
    monkeypatch.setattr(Ranks, "gathered", lambda self, items: (gathered.extend(items), gathered)[1])
    evaluate(Oracle(), [parts[0]], ranks=Ranks(0, 2))
    assert evaluate(Oracle(), [parts[1]], ranks=Ranks(1, 2)).accuracy == pytest.approx(10 / 12)
