"""Sections wait for the device, the profiler leaves the first steps out, AMP steps are as long as they should be."""

import time

import pytest
import torch
from torch import nn

from helpers import precision
from helpers.compiling import compiled, compiler_fault, count_graphs
from helpers.precision import autocast_dtype, optimizer_step
from helpers.profiling import Sections, operations


def test_sections_add_up_their_time_and_their_shares():
    sections = Sections()
    for _ in range(2):
        with sections("input"):
            time.sleep(0.02)
        with sections("step"):
            time.sleep(0.06)
    assert sections.seconds["input"] == pytest.approx(0.04, abs=0.02)
    assert sections.shares()["step"] == pytest.approx(0.75, abs=0.1)
    assert sum(sections.shares().values()) == pytest.approx(1)


def test_a_section_waits_for_an_accelerator_at_both_borders(monkeypatch):
    log = []
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: log.append("sync"))
    sections = Sections("cuda")
    with sections("load"):
        log.append("load")
    with sections("step"):
        log.append("step")
    assert log == ["sync", "load", "sync", "sync", "step", "sync"]


def test_a_section_that_raises_is_still_counted():
    sections = Sections()
    with pytest.raises(OSError, match="disk"), sections("step"):
        raise OSError("disk")
    assert sections.seconds["step"] >= 0


def test_the_profiler_records_only_steps_after_the_warm_up():
    calls = []

    def step():
        calls.append(1)
        if len(calls) <= 2:
            torch.ones(9).cumsum(0)  # what only a start does
        torch.ones(3, 3) @ torch.ones(3, 3)

    found = operations(step, steps=2)
    assert len(calls) == 4
    assert "aten::mm" in found
    assert "aten::cumsum" not in found
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_type_for_autocast_fits_the_device(monkeypatch):
    assert autocast_dtype("cpu") is torch.bfloat16
    for capability, dtype in (((7, 5), torch.float16), ((8, 0), torch.bfloat16)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, c=capability: c)
        assert autocast_dtype("cuda") is dtype


def test_bf16_units_are_read_where_the_system_tells(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(precision, "Path", lambda path: info)
    assert precision.bf16_units() is None
    info.write_text("flags : sse avx512_bf16 avx\n")
    assert precision.bf16_units() is True
    info.write_text("flags : sse avx\n")
    assert precision.bf16_units() is False


def one_step(scaler, clip=1.0):
    """SGD with rate 1: the change of the weights is the clipped gradient."""
    torch.manual_seed(0)
    layer = nn.Linear(30, 1)
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    loss = (layer(torch.randn(64, 30)) * 40).square().mean()
    norm = optimizer_step(loss, optimizer, layer.parameters(), clip=clip, scaler=scaler)
    return norm, (layer.weight - before).norm()


def test_a_scaled_step_is_as_long_as_a_plain_one():
    plain, scaled = one_step(None), one_step(torch.amp.GradScaler("cpu", init_scale=65536.0))
    assert plain[0] > 10
    assert plain[1] <= 1.0
    torch.testing.assert_close(scaled, plain, rtol=1e-4, atol=1e-4)


def test_a_step_without_a_clip_is_as_long_as_its_gradient():
    norm, length = one_step(None, clip=None)
    assert norm is None
    assert length > 10


def test_a_scaled_step_with_an_infinite_gradient_is_left_out():
    layer = nn.Linear(2, 1)
    before = layer.weight.detach().clone()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    optimizer_step(layer(torch.full((1, 2), torch.inf)).sum(), optimizer, layer.parameters(), scaler=scaler)
    assert torch.equal(layer.weight, before)
    assert scaler.get_scale() == 512.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.RNN(4, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(self.rnn(x)[0])


def test_a_model_with_a_recurrent_layer_compiles_no_graph_and_one_without_compiles_one():
    with count_graphs() as recurrent:
        torch.compile(Net(), backend="eager")(torch.randn(2, 3, 4))
    with count_graphs() as linear:
        torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), backend="eager")(torch.randn(2, 4))
    assert (recurrent.graphs, linear.graphs) == (0, 1)


def test_a_sequential_compiled_in_place_compiles_nothing():
    layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with count_graphs() as count:
        layers.compile(backend="eager")
        layers(torch.randn(2, 8))
    assert count.graphs == 0


def test_one_graph_is_asked_of_a_recurrent_layer_in_vain():
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(nn.GRU(8, 8), fullgraph=True, backend="eager")(torch.randn(2, 3, 8))


def test_a_smaller_last_batch_and_evaluation_cost_a_graph_each():
    net = nn.Sequential(nn.Linear(8, 8))
    with count_graphs() as training:
        call = torch.compile(net, backend="eager")
        for batch in (64, 64, 4, 7):
            call(torch.randn(batch, 8))
    assert training.graphs == 2
    with count_graphs() as both:
        call = torch.compile(net, backend="eager")
        for batch in (64, 64, 4, 7):
            call(torch.randn(batch, 8))
        with torch.no_grad():
            call(torch.randn(7, 8))
    assert both.graphs == 3


def test_without_a_compiler_a_call_stays_eager_and_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(torch, "__file__", "/folder/torch/__init__.py")
    assert "C++ compiler" in compiler_fault()
    net = nn.Linear(2, 2)
    assert compiled(net) is net
    assert "not compiled, runs eager" in capsys.readouterr().out


def test_a_space_in_the_path_of_pytorch_is_named_since_its_compiler_does_not_quote_it(monkeypatch):
    monkeypatch.setattr(torch, "__file__", "/a folder/torch/__init__.py")
    assert "space in its name" in compiler_fault()
