"""Typical mistakes, at least two an exercise, and a piece of what the check must say about each."""

WRONG_ANSWERS = {
    "0.1": [
        ("tokens_per_second = 64 * 200 / 8", "sequences a second"),
        ("tokens_per_second = 64 * 50 * 200", "divide by the seconds"),
        ("tokens_per_second = 200 / 8", "steps a second"),
        ("tokens_per_second = 'many'", "64 × 50 × 200 / 8"),
    ],
    "0.2": [
        (
            "import math\ndef steps_to_break_even(debt, gain):\n    return int(debt / gain) if gain > 0 else math.inf",
            "round up",
        ),
        ("import math\ndef steps_to_break_even(debt, gain):\n    return math.ceil(debt / gain)", "divides by zero"),
        (
            "import math\ndef steps_to_break_even(debt, gain):\n    return math.ceil(debt / abs(gain)) if gain else math.inf",
            "never pays",
        ),
    ],
    "1.1": [
        (
            "def unroll_from(h, x, W, U):\n    for x_t in x.unbind(1):\n        h = torch.tanh(x_t @ W + h @ U)\n    return h",
            "one state only",
        ),
        (
            "def unroll_from(h, x, W, U):\n    h = torch.zeros_like(h)\n    states = []\n    for x_t in x.unbind(1):\n"
            "        h = torch.tanh(x_t @ W + h @ U)\n        states.append(h)\n    return torch.stack(states, dim=1)",
            "start from h",
        ),
        (
            "def unroll_from(h, x, W, U):\n    states = []\n    for x_t in x.unbind(1):\n"
            "        h = torch.tanh(x_t @ W + h @ U)\n        states.append(h)\n    return torch.stack(states)",
            "time axis comes first",
        ),
        (
            "def unroll_from(h, x, W, U):\n    states = []\n    for x_t in x.unbind(1):\n"
            "        h = x_t @ W + h @ U\n        states.append(h)\n    return torch.stack(states, dim=1)",
            "differ from nn.RNN",
        ),
    ],
    "1.2": [
        ("def detach(state):\n    return state.detach()", "AttributeError"),
        (
            "def detach(state):\n    if type(state) == torch.autograd.Variable:\n        return state.detach()\n"
            "    return tuple(detach(part) for part in state)",
            "iteration over a 0-d tensor",
        ),
        (
            "def detach(state):\n    return state.detach() if isinstance(state, torch.Tensor) else [s.detach() for s in state]",
            "a list went out",
        ),
        ("def detach(state):\n    return state", "still has its history"),
        ("def detach(state):\n    if isinstance(state, torch.Tensor):\n        return state.detach()", "every branch"),
    ],
    "1.3": [
        (
            "import math\ndef slope(u, xs):\n    h = before = 0.5\n    for x in xs:\n        before, h = h, math.tanh(u * h + x)\n"
            "    return (1 - h**2) * before",
            "leaves out how u changed the state before",
        ),
        (
            "import math\ndef slope(u, xs):\n    h, dh = 0.5, 0.0\n    for x in xs:\n        h = math.tanh(u * h + x)\n"
            "        dh = (1 - h**2) * (h + u * dh)\n    return dh",
            "it should be",
        ),
    ],
    "2.1": [
        ("def module_bytes(module):\n    return sum(p.numel() for p in module.parameters())", "number of elements"),
        ("def module_bytes(module):\n    return sum(4 * p.numel() for p in module.parameters())", "8 bytes"),
        (
            "def module_bytes(module):\n    return sum(p.numel() * p.element_size() for p in module.parameters())",
            "buffers",
        ),
    ],
    "2.2": [
        (
            "def accuracy(batches):\n    right = count = 0\n    for logits, labels in batches:\n"
            "        right += (logits.argmax(1) == labels).sum().item()\n        count += len(labels)\n    return right / count",
            "asked for a value 3 times",
        ),
        (
            "def accuracy(batches):\n    shares = [(logits.argmax(1) == labels).double().mean() for logits, labels in batches]\n"
            "    return torch.stack(shares).mean().item()",
            "mean of the batches' accuracies",
        ),
        (
            "def accuracy(batches):\n    right = count = 0\n    for logits, labels in batches:\n"
            "        right = right + (logits.argmax(1) == labels).sum()\n        count += len(labels)\n    return right / count",
            "return a float",
        ),
    ],
    "2.3": [
        (
            "def peak_mebibytes(parameters, states, batch, time, hidden):\n"
            "    return 4 * ((1 + states) * parameters + 2 * batch * time * hidden) / 2**20",
            "gradients",
        ),
        (
            "def peak_mebibytes(parameters, states, batch, time, hidden):\n"
            "    return 4 * (4 * parameters + 2 * batch * time * hidden) / 2**20",
            "plain SGD",
        ),
        (
            "def peak_mebibytes(parameters, states, batch, time, hidden):\n"
            "    return 4 * ((2 + states) * parameters + 2 * batch * time * hidden) / 1e6",
            "MiB of activations",
        ),
    ],
    "3.1": [
        ("def last_real(out, lengths):\n    return out[:, -1]", "last step of the rectangle"),
        ("def last_real(out, lengths):\n    return out[:, lengths - 1]", "the shape should be"),
        (
            "def last_real(out, lengths):\n    return out[torch.arange(len(lengths)), lengths - 2]",
            "the last is length - 1",
        ),
    ],
    "3.2": [
        ("def mean_of_real(out, lengths):\n    return out.mean(1)", "padding is in that mean"),
        (
            "def mean_of_real(out, lengths):\n    real = torch.arange(out.size(1)) < lengths.unsqueeze(1)\n"
            "    return (out * real.unsqueeze(2)).mean(1)",
            "divide by the lengths",
        ),
        (
            "def mean_of_real(out, lengths):\n    real = torch.arange(out.size(1)) <= lengths.unsqueeze(1)\n"
            "    return (out * real.unsqueeze(2)).sum(1) / lengths.unsqueeze(1)",
            "is another",
        ),
    ],
    "3.3": [
        ("lowest_loss = 0.0", "zero is what logits could reach"),
        ("import math\nlowest_loss = math.log(1 + 3 / math.e)", "right for four classes"),
        ("import math\nlowest_loss = math.log(2)", "what guessing gives"),
    ],
}
