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
    "4.1": [
        (
            "def padding_of(lengths, batch_size):\n    batches = [lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size)]\n"
            "    return sum(1 - sum(b) / (len(b) * max(b)) for b in batches) / len(batches)",
            "mean of the batches' shares",
        ),
        (
            "def padding_of(lengths, batch_size):\n    return 1 - sum(lengths) / (len(lengths) * max(lengths))",
            "longest of all texts",
        ),
        (
            "def padding_of(lengths, batch_size):\n    batches = [lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size)]\n"
            "    return sum(lengths) / sum(len(b) * max(b) for b in batches)",
            "share of real tokens",
        ),
        (
            "def padding_of(lengths, batch_size):\n    batches = [lengths[i : i + batch_size] for i in range(0, len(lengths), batch_size)]\n"
            "    return 1 - sum(lengths) / sum(batch_size * max(b) for b in batches)",
            "count its own rows",
        ),
    ],
    "4.2": [
        (
            "def limiter(seconds):\n    name = max(seconds, key=seconds.get)\n    return name, seconds[name] / sum(seconds.values())",
            "its share of the epoch",
        ),
        (
            "def limiter(seconds):\n    name = max(seconds, key=seconds.get)\n    return name, sum(seconds.values()) / seconds[name]",
            "what is left",
        ),
        (
            "def limiter(seconds):\n    name = max(seconds, key=seconds.get)\n    total = sum(seconds.values())\n"
            "    return name, total / (total - seconds[name])",
            "divides by zero",
        ),
        ("def limiter(seconds):\n    name = max(seconds)\n    return name, 2.0", "the longest section is backward"),
    ],
    "4.3": [
        (
            "def time_call(call, synchronize, clock):\n    start = clock()\n    for _ in range(5):\n        call()\n"
            "    return (clock() - start) / 5",
            "time of the launch",
        ),
        (
            "def time_call(call, synchronize, clock):\n    seconds = []\n    for _ in range(6):\n        start = clock()\n"
            "        call()\n        synchronize()\n        seconds.append(clock() - start)\n    return sum(seconds) / 6",
            "older work in the queue",
        ),
        (
            "def time_call(call, synchronize, clock):\n    call()\n    seconds = []\n    for _ in range(5):\n        synchronize()\n"
            "        start = clock()\n        call()\n        synchronize()\n        seconds.append(clock() - start)\n"
            "    return sum(seconds) / 5",
            "the median",
        ),
        (
            "import statistics\ndef time_call(call, synchronize, clock):\n    seconds = []\n    for _ in range(6):\n        synchronize()\n"
            "        start = clock()\n        call()\n        synchronize()\n        seconds.append(clock() - start)\n"
            "    return statistics.median(seconds)",
            "counts for nothing",
        ),
    ],
    "6.1": [
        (
            "import math\ndef perplexity_of(batches):\n    return math.exp(sum(loss for loss, _ in batches) / len(batches))",
            "weigh each loss by its number of words",
        ),
        (
            "import math\ndef perplexity_of(batches):\n    return sum(math.exp(loss) for loss, _ in batches) / len(batches)",
            "mean of the batches' perplexities",
        ),
        (
            "import math\ndef perplexity_of(batches):\n    count = sum(n for _, n in batches)\n"
            "    return sum(n * math.exp(loss) for loss, n in batches) / count",
            "exp comes last",
        ),
        (
            "import math\ndef perplexity_of(batches):\n    count = sum(n for _, n in batches)\n"
            "    return math.exp(sum(loss * n for loss, n in batches) / count)",
            "padding alone makes it nan",
        ),
        (
            "def perplexity_of(batches):\n    return sum(loss * n for loss, n in batches if n) / sum(n for _, n in batches)",
            "that is the mean loss",
        ),
    ],
    "6.2": [
        ("def top_k(scores, k):\n    return scores.topk(k, dim=1).values", "the shape should stay"),
        (
            "def top_k(scores, k):\n    smallest = scores.topk(k, dim=1).values[:, -1:]\n"
            "    return scores.masked_fill(scores < smallest, float('-inf'))",
            "where scores are equal",
        ),
        (
            "def top_k(scores, k):\n    smallest = scores.flatten().topk(k).values[-1]\n"
            "    return scores.masked_fill(scores < smallest, float('-inf'))",
            "each row has its own",
        ),
        (
            "def top_k(scores, k):\n    places = scores.topk(k, dim=1).indices\n"
            "    return torch.zeros_like(scores).scatter(1, places, scores.gather(1, places))",
            "need the score -inf",
        ),
        (
            "def top_k(scores, k):\n    worst = scores.topk(scores.size(1) - min(k, scores.size(1)), dim=1, largest=False).indices\n"
            "    return scores.scatter_(1, worst, float('-inf'))",
            "work on a copy",
        ),
    ],
    "6.3": [
        (
            "def words_until(step, word, limit, end):\n    said, state = [], None\n    while len(said) < limit and word != end:\n"
            "        word, state = step(word, state)\n        said.append(word)\n    return said",
            "no part of the reply",
        ),
        (
            "def words_until(step, word, limit, end):\n    said = []\n    while len(said) < limit:\n"
            "        word, _ = step(word, None)\n        if word == end:\n            break\n        said.append(word)\n    return said",
            "it never stops",
        ),
        (
            "def words_until(step, word, limit, end):\n    said, state = [], None\n    while word != end:\n"
            "        word, state = step(word, state)\n        if word != end:\n            said.append(word)\n    return said",
            "with a limit of 2",
        ),
    ],
    "5.1": [
        ("def weight_gradient(grads, before):\n    return before.flatten(0, 1).T @ grads.flatten(0, 1)", "transpose"),
        (
            "def weight_gradient(grads, before):\n    return grads.flatten(0, 1).T @ before.flatten(0, 1) / 15",
            "that is their mean",
        ),
        ("def weight_gradient(grads, before):\n    return grads[-1].T @ before[-1]", "last step's part alone"),
        ("def weight_gradient(grads, before):\n    return grads.mT @ before", "the shape should be"),
    ],
    "5.2": [
        (
            "def rounded_lengths(lengths, graphs):\n    step = -(-max(lengths) // graphs)\n"
            "    return [step * (n // step) for n in lengths]",
            "never shrink",
        ),
        ("def rounded_lengths(lengths, graphs):\n    return [max(lengths)] * len(lengths)", "pads all to the longest"),
        (
            "def rounded_lengths(lengths, graphs):\n    return [graphs * -(-n // graphs) for n in lengths]",
            "with steps of 5",
        ),
        (
            "def rounded_lengths(lengths, graphs):\n    step = max(1, max(lengths) // graphs)\n"
            "    return [step * -(-n // step) for n in lengths]",
            "the step rounds up",
        ),
        ("def rounded_lengths(lengths, graphs):\n    return list(lengths)", "different lengths are left"),
    ],
    "5.3": [
        (
            "def scaled_step(loss, optimizer, parameters, scaler):\n    scaler.scale(loss).backward()\n"
            "    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)\n    scaler.step(optimizer)\n"
            "    scaler.update()\n    return norm",
            "unscale_ comes before clipping",
        ),
        (
            "def scaled_step(loss, optimizer, parameters, scaler):\n    scaler.scale(loss).backward()\n"
            "    scaler.unscale_(optimizer)\n    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)\n"
            "    scaler.update()\n    return norm",
            "the weights have not moved",
        ),
        (
            "def scaled_step(loss, optimizer, parameters, scaler):\n    scaler.scale(loss).backward()\n"
            "    scaler.unscale_(optimizer)\n    norm = torch.nn.utils.clip_grad_norm_(parameters, 1e9)\n"
            "    scaler.step(optimizer)\n    scaler.update()\n    return norm",
            "not clipped to 1",
        ),
        (
            "def scaled_step(loss, optimizer, parameters, scaler):\n    scaler.scale(loss).backward()\n"
            "    scaler.unscale_(optimizer)\n    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)\n"
            "    scaler.step(optimizer)\n    return norm",
            "scaler.update() ends the step",
        ),
        (
            "def scaled_step(loss, optimizer, parameters, scaler):\n    loss.backward()\n"
            "    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)\n    optimizer.step()\n    return norm",
            "scale the loss",
        ),
    ],
    "7.1": [
        (
            "def accuracy_of(ranks):\n    return sum(right / n for right, n in ranks) / len(ranks)",
            "the mean of the ranks' accuracies",
        ),
        ("def accuracy_of(ranks):\n    return sum(right for right, _ in ranks)", "not 10"),
        (
            "def accuracy_of(ranks):\n    ranks = [(r, max(n, 1)) for r, n in ranks]\n"
            "    return sum(r for r, _ in ranks) / sum(n for _, n in ranks)",
            "a rank without examples adds nothing",
        ),
    ],
    "7.2": [
        (
            "def share_of(examples, rank, world_size):\n    size = -(-examples // world_size)\n"
            "    return [place % examples for place in range(rank * size, (rank + 1) * size)]",
            "comes more than once",
        ),
        (
            "def share_of(examples, rank, world_size):\n    size = examples // world_size\n"
            "    return list(range(rank * size, (rank + 1) * size))",
            "nobody judges place 8",
        ),
        (
            "def share_of(examples, rank, world_size):\n    return list(range(examples)) if rank == 0 else []",
            "one rank works while the others wait",
        ),
        (
            "def share_of(examples, rank, world_size):\n"
            "    return list(range(rank, world_size * -(-examples // world_size), world_size))",
            "there is no place 11",
        ),
    ],
    "7.3": [
        (
            "def ring_all_reduce(numbers, send):\n    sums = [sum(column) for column in zip(*numbers)]\n"
            "    return [sums for _ in numbers]",
            "nothing was sent",
        ),
        (
            "def ring_all_reduce(numbers, send):\n    n = len(numbers)\n    numbers = [list(row) for row in numbers]\n"
            "    for k in range(n - 1):\n        received = send([numbers[r][(r - k) % n] for r in range(n)])\n"
            "        for r in range(n):\n            numbers[r][(r - 1 - k) % n] += received[r]\n    return numbers",
            "pass these on",
        ),
        (
            "def ring_all_reduce(numbers, send):\n    n = len(numbers)\n    sums = [list(row) for row in numbers]\n"
            "    for place in range(n):\n        travelling = [row[place] for row in numbers]\n"
            "        for _ in range(n - 1):\n            travelling = send(travelling)\n"
            "            for r in range(n):\n                sums[r][place] += travelling[r]\n    return sums",
            "more than 6 rounds",
        ),
    ],
}
