"""Twenty workers are killed, at any moment and while a checkpoint is written: each run ends as if nobody had been."""

import random
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from notebooks import ROOT

KILLS, EPOCHS = 20, 12

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL"),
]


def start(folder, program=("-m", "helpers")):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=2"]
    command += [*program, "train", "--data", str(folder.parent / "headlines.tsv"), "--epochs", str(EPOCHS)]
    command += ["--checkpoint", str(folder / "run"), "--resume"]
    folder.mkdir()
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def workers(torchrun):
    return [child for child in psutil.Process(torchrun.pid).children() if "helpers" in child.cmdline()]


def content(folder):
    """The weights and the optimizer's state at the end, by name."""
    saved = torch.load(folder / "run", weights_only=True)
    state = saved["optimizer"]["state"]
    tensors = {f"{place} {name}": value for place, values in state.items() for name, value in values.items()}
    return {**saved["model"], **tensors}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    lines = [f"the market rises on day {n}\tup\nthe market falls on day {n}\tdown" for n in range(400)]
    (folder / "headlines.tsv").write_text("\n".join(lines) + "\n")
    begin = time.monotonic()
    torchrun = start(folder / "whole")
    _, complaints = torchrun.communicate(timeout=300)
    assert torchrun.returncode == 0, complaints
    return folder, time.monotonic() - begin


def same_as_undisturbed(torchrun, folder, place):
    _, complaints = torchrun.communicate(timeout=300)
    assert torchrun.returncode == 0, complaints
    whole, disturbed = content(folder / "whole"), content(place)
    assert list(whole) == list(disturbed)
    assert all(torch.equal(whole[name], disturbed[name]) for name in whole)
    assert sorted(path.name for path in place.iterdir()) == ["run", "run.previous"]
    return complaints


@pytest.mark.parametrize("kill", range(KILLS // 2))
def test_a_run_whose_worker_is_killed_at_any_moment_ends_with_the_same_bits(undisturbed, kill):
    folder, seconds = undisturbed
    chance = random.Random(kill)
    torchrun = start(folder / f"killed {kill}")
    time.sleep(chance.uniform(0.2, 0.65) * seconds)
    while len(alive := workers(torchrun)) < 2:  # slower than the undisturbed run: not both have begun
        assert torchrun.poll() is None
        time.sleep(0.01)
    alive[chance.randrange(2)].send_signal(signal.SIGKILL)
    assert "exitcode: -9" in same_as_undisturbed(torchrun, folder, folder / f"killed {kill}")


@pytest.mark.parametrize("kill", range(KILLS // 2))
def test_a_run_whose_worker_is_killed_while_it_writes_ends_with_the_same_bits(undisturbed, kill):
    folder, _ = undisturbed
    program = (str(ROOT / "tests" / "dies_while_writing.py"), str(1 + kill % EPOCHS))
    torchrun = start(folder / f"writing {kill}", program)
    assert "exitcode: -9" in same_as_undisturbed(torchrun, folder, folder / f"writing {kill}")
