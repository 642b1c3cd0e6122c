"""The device: which one, what is moved to it, and what its memory means."""

import os
import subprocess
import sys
import warnings
from typing import NamedTuple

import pytest
import torch

from helpers import device


class Texts(NamedTuple):
    tokens: torch.Tensor
    lengths: torch.Tensor


BATCH = Texts(torch.ones(2, 3), torch.tensor([3, 1]))


def test_the_choice_is_printed(capsys):
    chosen = device.choose_device("cpu")
    assert chosen == torch.device("cpu")
    assert capsys.readouterr().out.startswith("device: cpu (")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", ""])
def test_a_name_that_is_no_device_is_refused_with_examples(name):
    with pytest.raises(ValueError, match="write cpu, cuda"):
        device.choose_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a CUDA device")
def test_a_device_that_is_not_there_is_refused_in_one_line():
    with pytest.raises(ValueError, match="device cuda cannot be used") as caught:
        device.choose_device("cuda")
    assert "\n" not in str(caught.value)


def test_a_driver_that_is_too_old_gives_one_line_with_the_remedy(monkeypatch, capsys, tmp_path):
    def warn(**_):
        warnings.warn("CUDA initialization: The NVIDIA driver on your system is too old (found 11040).", stacklevel=1)

    monkeypatch.setattr(torch.accelerator, "current_accelerator", warn)
    monkeypatch.setattr(device.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert device.choose_device() == torch.device("cpu")
    (line,) = capsys.readouterr().out.splitlines()
    assert "too old" in line
    assert "pytorch.org" in line


def test_a_build_without_cuda_beside_a_gpu_is_named(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.setattr(device.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert "built without CUDA" in device.find_accelerator()[1]


@pytest.mark.parametrize("value", ["", "-1"])
def test_a_hidden_gpu_is_no_fault_of_the_driver(monkeypatch, value):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    monkeypatch.setattr(device.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert device.find_accelerator() == (None, "a GPU is hidden by CUDA_VISIBLE_DEVICES")


def test_a_gpu_on_which_nothing_runs_is_not_chosen(monkeypatch, capsys):
    """As where the build has no kernels for the card: it is available, and every operation fails."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: torch.device("cuda"))
    ones = torch.ones

    def fail(*args, device=None, **kwargs):
        if device is not None and torch.device(device).type == "cuda":
            raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nmore lines")
        return ones(*args, **kwargs)

    monkeypatch.setattr(torch, "ones", fail)
    assert device.choose_device() == torch.device("cpu")
    (line,) = capsys.readouterr().out.splitlines()
    assert "no kernel image" in line
    assert "more lines" not in line


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device to hide")
def test_cuda_visible_devices_is_respected():
    program = (
        "from helpers.device import find_accelerator; d, _ = find_accelerator(); print(d is None or d.type != 'cuda')"
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_lengths_stay_on_the_cpu():
    for moved in (device.to_device(BATCH, "meta"), device.to_device(BATCH._asdict(), "meta")):
        tokens, lengths = moved if isinstance(moved, tuple) else moved.values()
        assert tokens.device.type == "meta"
        assert lengths.device.type == "cpu"


def test_what_holds_tensors_keeps_its_kind():
    moved = device.to_device({"a": [torch.ones(1), (torch.ones(2), "name")], "n": 3}, "meta")
    assert isinstance(moved["a"], list)
    assert isinstance(moved["a"][1], tuple)
    assert moved["a"][1][0].device.type == "meta"
    assert (moved["a"][1][1], moved["n"]) == ("name", 3)
    assert type(device.to_device(BATCH, "meta")) is Texts


@pytest.mark.parametrize(("target", "flag"), [("cpu", False), ("mps", False), ("cuda", True)])
def test_a_copy_does_not_wait_only_towards_cuda(target, flag):
    flags = []

    class Witness(torch.Tensor):
        def to(self, *args, **kwargs):
            flags.append(kwargs["non_blocking"])
            return self.as_subclass(torch.Tensor)

    device.to_device(torch.ones(2).as_subclass(Witness), target, non_blocking=True)
    assert flags == [flag]


def test_memory_of_a_process_is_never_above_its_peak():
    now = device.memory("cpu")
    assert 20 < now.allocated <= now.peak
    assert now.reserved >= now.allocated
    assert "resident set" in now.counted


def test_allocated_reserved_and_peak_of_a_device_are_told_apart(monkeypatch):
    for name, mebibytes in (("memory_allocated", 100), ("memory_reserved", 300), ("max_memory_allocated", 200)):
        monkeypatch.setattr(torch.accelerator, name, lambda *_, m=mebibytes: m * device.MEBIBYTE)
    found = device.memory("cuda")
    assert (found.allocated, found.reserved, found.peak) == (100, 300, 200)


def test_the_peak_of_a_block_is_what_stood_at_once():
    with device.peak_memory() as four:
        tensors = [torch.ones(2**18) for _ in range(4)]  # a MiB each
        del tensors
    assert (four.mebibytes, four.kept_mebibytes) == (4, 0)
    with device.peak_memory() as one_kept:
        kept = [torch.ones(2**18), torch.ones(2**18)].pop()
    assert (one_kept.mebibytes, one_kept.kept_mebibytes) == (2, 1)
    del kept
    with device.peak_memory() as nothing:
        pass
    assert nothing.mebibytes == 0  # the earlier peak is gone


def test_the_profilers_own_remarks_are_held_back_and_all_others_are_not(capfd):
    layer = torch.nn.Linear(100, 100)
    layer(torch.ones(2, 100)).sum().backward()
    with device.peak_memory():
        layer.zero_grad()  # frees what is older than the profiler
        os.write(2, b"a real fault\n")
    assert capfd.readouterr().err == "a real fault\n"


@pytest.mark.parametrize("width", [32, 128])
def test_the_peak_of_a_network_is_what_arithmetic_says(width):
    """64 × 50 inputs through one product and a tanh: the product, and the tanh beside it."""
    layer, x = torch.nn.Linear(16, width), torch.ones(64, 50, 16)
    with device.peak_memory() as peak:
        torch.tanh(layer(x))
    assert peak.mebibytes == pytest.approx(2 * 64 * 50 * width * 4 / device.MEBIBYTE, rel=0.05)
