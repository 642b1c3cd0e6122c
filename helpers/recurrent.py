"""Forms of one tanh layer over time: the numbers of nn.RNN, computed in ways that differ in speed."""

import itertools

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable


def by_index(rnn: nn.RNN, x: Tensor) -> Tensor:
    """Run `rnn` over `x` [batch, time, input_size], reading each step by `[:, t]`; return [batch, time, hidden_size].

    The slow form: in the backward pass each of these reads writes a gradient as large as all steps together,
    so that time grows with the square of the length.
    """
    steps = _inputs(rnn, x).transpose(0, 1)  # [batch, time, hidden_size]
    state, states = _zeros(rnn, x), []
    for t in range(steps.size(1)):
        state = torch.tanh(steps[:, t] + state @ rnn.weight_hh_l0.T)
        states.append(state)
    return torch.stack(states, dim=1)


def by_cell(rnn: nn.RNN, x: Tensor) -> Tensor:
    """As `by_index`, with both products and all biases inside each step, as nn.RNNCell has them."""
    state, states = _zeros(rnn, x), []
    weights = rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0
    for step in x.unbind(1):
        state = torch.rnn_tanh_cell(step, state, *weights)
        states.append(state)
    return torch.stack(states, dim=1)


def by_unbind(rnn: nn.RNN, x: Tensor) -> Tensor:
    """As `by_index`, but the steps are taken apart once by `unbind`, whose gradient is put together once."""
    state, states = _zeros(rnn, x), []
    for step in _inputs(rnn, x).unbind(0):
        state = torch.tanh(step + state @ rnn.weight_hh_l0.T)
        states.append(state)
    return torch.stack(states, dim=1)


def by_addmm(rnn: nn.RNN, x: Tensor) -> Tensor:
    """As `by_unbind`, with the product and the sum of a step in one call."""
    state, states, weight = _zeros(rnn, x), [], rnn.weight_hh_l0.T
    for step in _inputs(rnn, x).unbind(0):
        state = torch.addmm(step, state, weight).tanh()
        states.append(state)
    return torch.stack(states, dim=1)


class TanhOverTime(torch.autograd.Function):
    """`h_t = tanh(x_t @ w_ih.T + bias + h_{t-1} @ w_hh.T)` for all steps, with a backward pass written by hand.

    The inputs' part is written where the states will stand, and each becomes a state in place. Autograd would multiply
    once a step for the gradient of `w_hh`; here that is one product over all steps.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, state: Tensor, w_ih: Tensor, bias: Tensor, w_hh: Tensor) -> Tensor:
        """`x` [time, batch, input], `state` [batch, hidden] and the layer's weights -> states [time, batch, hidden]."""
        x = x.contiguous()
        states = x.new_empty(len(x) + 1, *state.shape)  # the first one given, then one a step
        states[0] = state
        torch.addmm(bias, x.flatten(0, 1), w_ih.T, out=states[1:].flatten(0, 1))
        rows = states.unbind(0)
        for before, after in itertools.pairwise(rows):
            after.addmm_(before, w_hh.T).tanh_()
        ctx.save_for_backward(x, states, w_ih, w_hh)
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """`grad` [time, batch, hidden] -> the gradients of x, state, w_ih, bias and w_hh."""
        x, states, w_ih, w_hh = ctx.saved_tensors
        slopes = torch.addcmul(states.new_ones(()), states[1:], states[1:], value=-1)  # of tanh: 1 - tanh²
        grad = grad.clone(memory_format=torch.contiguous_format)  # becomes the gradient before tanh, step by step
        steps, slope = grad.unbind(0), slopes.unbind(0)
        steps[-1].mul_(slope[-1])
        for t in range(len(steps) - 2, -1, -1):
            steps[t].addmm_(steps[t + 1], w_hh).mul_(slope[t])
        flat = grad.flatten(0, 1)  # [time · batch, hidden]
        weights = flat.T @ x.flatten(0, 1), flat.sum(0), flat.T @ states[:-1].flatten(0, 1)
        return (flat @ w_ih).view_as(x), steps[0] @ w_hh, *weights


class FastRNN(nn.RNN):
    """nn.RNN with one layer, one direction and tanh, computed by `TanhOverTime`: same weights, same numbers."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size, batch_first=True)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`x` [batch, time, input_size], `state` [1, batch, hidden_size] -> all states, and the last as [1, …]."""
        kind = x.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        state = _zeros(self, x) if state is None else state[0]
        weights = self.weight_ih_l0, self.bias_ih_l0 + self.bias_hh_l0, self.weight_hh_l0
        with torch.autocast(kind, enabled=False):
            states = TanhOverTime.apply(*(part.to(dtype) for part in (x.transpose(0, 1), state, *weights)))
        return states.transpose(0, 1), states[-1:]


def _inputs(rnn: nn.RNN, x: Tensor) -> Tensor:
    """One product for the inputs of all steps, both biases in it: [time, batch, hidden_size]."""
    return nn.functional.linear(x.transpose(0, 1), rnn.weight_ih_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)


def _zeros(rnn: nn.RNN, x: Tensor) -> Tensor:
    return x.new_zeros(x.size(0), rnn.hidden_size)
