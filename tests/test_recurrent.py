"""Every form of the layer over time computes what nn.RNN computes."""

import pytest
import torch
from torch import nn

from helpers import recurrent

FORMS = pytest.mark.parametrize(
    "form", [recurrent.by_index, recurrent.by_cell, recurrent.by_unbind, recurrent.by_addmm]
)


def gradients(module, out):
    return torch.autograd.grad(out.square().sum(), list(module.parameters()))


@FORMS
def test_a_form_gives_the_states_and_gradients_of_nn_rnn(form):
    torch.manual_seed(0)
    rnn, x = nn.RNN(3, 4, batch_first=True).double(), torch.randn(2, 5, 3, dtype=torch.float64)
    want = rnn(x)[0]
    got = form(rnn, x)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(gradients(rnn, got), gradients(rnn, want))


def test_the_backward_pass_written_by_hand_agrees_with_finite_differences():
    torch.manual_seed(0)
    shapes = (5, 2, 4), (2, 3), (3, 4), (3,), (3, 3)  # x, state, and the layer's weights
    values = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(recurrent.TanhOverTime.apply, values)
    values[0] = torch.randn(1, 2, 4, dtype=torch.float64, requires_grad=True)  # a single step
    assert torch.autograd.gradcheck(recurrent.TanhOverTime.apply, values)


@pytest.mark.parametrize("with_state", [False, True])
def test_fast_rnn_takes_the_place_of_nn_rnn(with_state):
    torch.manual_seed(0)
    plain, fast = nn.RNN(3, 4, batch_first=True), recurrent.FastRNN(3, 4)
    fast.load_state_dict(plain.state_dict())
    x, state = torch.randn(2, 5, 3), torch.randn(1, 2, 4) if with_state else None
    for a, b in zip(plain(x, state), fast(x, state), strict=True):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(gradients(fast, fast(x, state)[0]), gradients(plain, plain(x, state)[0]))


def test_fast_rnn_runs_under_autocast_and_its_weights_get_float32_gradients():
    fast = recurrent.FastRNN(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, _ = fast(torch.randn(2, 5, 3))
    assert out.dtype == torch.bfloat16
    assert all(grad.dtype == torch.float32 for grad in gradients(fast, out.float()))


def test_a_cell_loop_runs_under_autocast():
    rnn = nn.RNN(3, 4, batch_first=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = recurrent.by_unbind(rnn, torch.randn(2, 5, 3))
    assert all(grad.dtype == torch.float32 for grad in gradients(rnn, out.float()))


def test_gru_stays_float32_under_autocast_on_a_cpu_and_lstm_does_not():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert nn.LSTM(8, 8)(torch.randn(3, 2, 8))[0].dtype == torch.bfloat16
        assert nn.GRU(8, 8)(torch.randn(3, 2, 8))[0].dtype == torch.float32
