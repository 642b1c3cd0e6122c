"""The course's pictures: one function a kind, data in, axes out; one size, colours that everyone can tell apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import networkx as nx
import torch
from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart with every kind of colour vision (jfly.uni-koeln.de/color)
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6E6E6E")
BLUE, ORANGE, *_, SKY, _, GREY = COLOURS
SIZE = (7.2, 3.4)  # inches, of every figure


def lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]], xlabel: str, ylabel: str, *, log: str = ""
) -> Axes:
    """Draw each name's (x, y) as a line with its name at its end; `log` is "", "x", "y" or "xy"."""
    axes = _new_axes(xlabel, ylabel)
    if "x" in log:
        axes.set_xscale("log", base=2)
    if "y" in log:
        axes.set_yscale("log")
    ends = []
    for (name, (x, y)), colour in zip(series.items(), _colours(len(series)), strict=True):
        axes.plot(x, y, color=colour, marker="o", markersize=4)
        ends.append((y[-1], x[-1], name))
    _label_ends(axes, ends)
    return axes


def bars(values: Mapping[str, float], xlabel: str) -> Axes:
    """Draw a horizontal bar a measured value, from the top, with its name and value."""
    axes = _new_axes(xlabel, "")
    axes.figure.set_size_inches(SIZE[0], max(SIZE[1], 0.8 + 0.26 * len(values)))  # room for many names
    drawn = axes.barh(list(values), list(values.values()), color=BLUE, height=0.6)
    axes.bar_label(drawn, fmt="≈%.3g", padding=6)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    return axes


def stacked(parts: Mapping[str, Sequence[float]], x: Sequence[str], xlabel: str, ylabel: str) -> Axes:
    """Draw a stacked bar at each of `x`; a part's name stands beside its share of the last bar."""
    axes = _new_axes(xlabel, ylabel)
    bottom = [0.0] * len(x)
    ends = []
    for (name, heights), colour in zip(parts.items(), _colours(len(parts)), strict=True):
        axes.bar(x, heights, bottom=bottom, color=colour, width=0.6)
        ends.append((bottom[-1] + heights[-1] / 2, len(x) - 0.68, name))
        bottom = [b + h for b, h in zip(bottom, heights, strict=True)]
    _label_ends(axes, ends)
    return axes


def points(axes: Axes, x: Sequence[float], y: Sequence[float], name: str) -> Axes:
    """Add measured points to a picture, with their name above the first."""
    axes.plot(x, y, linestyle="none", marker="D", color="black", markersize=5)
    axes.annotate(name, (x[0], y[0]), xytext=(0, 9), textcoords="offset points", ha="center")
    return axes


def graph(output: torch.Tensor, names: Mapping[torch.Tensor, str] | None = None) -> Axes:
    """Draw the graph that autograd recorded behind `output`: operations, and the tensors that collect gradients.

    `names` gives the leaves' names. Time runs from left to right, as in the forward pass.
    """
    network, labels, colours = nx.DiGraph(), {}, {}
    leaves = {id(tensor): name for tensor, name in (names or {}).items()}
    queue, seen = [output.grad_fn], {output.grad_fn}
    while queue:
        node = queue.pop(0)
        leaf = getattr(node, "variable", None)
        labels[node] = type(node).__name__.removesuffix("0").removesuffix("1").removesuffix("Backward")
        if leaf is not None:
            labels[node] = leaves.get(id(leaf), "leaf")
        colours[node] = ORANGE if leaf is not None else SKY
        network.add_node(node)
        for before, _ in node.next_functions:
            if before is None:
                continue
            network.add_edge(before, node)
            if before not in seen:
                seen.add(before)
                queue.append(before)
    depth = {}  # the longest way to the output, in operations
    for node in reversed(list(nx.topological_sort(network))):
        depth[node] = 1 + max((depth[after] for after in network.successors(node)), default=-1)
    first = max(depth.values())
    columns = defaultdict(list)
    for node in network:
        is_leaf = colours[node] == ORANGE
        columns[0 if is_leaf else first - depth[node]].append(node)
    place = {}
    for column, nodes in columns.items():  # what reads a leaf stands level with it
        nodes.sort(
            key=lambda node: min(
                (labels[n] for n in network.predecessors(node) if colours[n] == ORANGE), default=labels[node]
            )
        )
        for row, node in enumerate(nodes):
            place[node] = (column, row - (len(nodes) - 1) / 2)
    axes = _new_axes("", "")
    axes.axis("off")
    nx.draw_networkx_edges(
        network, place, ax=axes, edge_color=GREY, node_size=700, width=0.8, connectionstyle="arc3,rad=0.12"
    )
    nx.draw_networkx_nodes(network, place, ax=axes, node_color=[colours[n] for n in network], node_size=620)
    nx.draw_networkx_labels(network, place, labels, ax=axes, font_size=8, verticalalignment="center")
    axes.margins(0.08)
    return axes


def confusion(counts: Sequence[Sequence[int]], labels: Sequence[str]) -> Axes:
    """Draw a confusion matrix of counts: the truth in rows, the answer in columns."""
    axes = _new_axes("the model's answer", "truth")
    axes.imshow(counts, cmap="Blues", vmin=0)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.spines[:].set_visible(False)
    highest = max(map(max, counts))
    for row, values in enumerate(counts):
        for column, count in enumerate(values):
            colour = "white" if count > highest / 2 else "black"
            axes.text(column, row, f"{count}", ha="center", va="center", color=colour, fontsize=12)
    return axes


def tokens(rows: Sequence[Sequence[str]], time: int) -> Axes:
    """Draw a padded batch as a grid: a row a text, a cell a token; padding is hatched."""
    axes = _new_axes("time step", "text in the batch")
    for row, words in enumerate(rows):
        for step in range(time):
            real = step < len(words)
            style = {"facecolor": SKY} if real else {"facecolor": "white", "hatch": "///", "edgecolor": GREY}
            axes.add_patch(plt.Rectangle((step - 0.48, row - 0.42), 0.96, 0.84, linewidth=0.5, **style))
            if real:
                axes.text(step, row, words[step], ha="center", va="center", fontsize=7)
    axes.set_xlim(-0.6, time - 0.4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)))
    axes.set_xticks(range(time))
    return axes


def _colours(count: int) -> Sequence[str]:
    if count > len(COLOURS):
        raise ValueError(f"a picture tells {len(COLOURS)} things apart, not {count}: draw two")
    return COLOURS[:count]


def _new_axes(xlabel: str, ylabel: str) -> Axes:
    _, axes = plt.subplots(figsize=SIZE, layout="constrained", facecolor="white")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _label_ends(axes: Axes, ends: Sequence[tuple[float, float, str]]) -> None:
    """Write names at (y, x), to the right of a line's end or a bar, moved apart where they would overlap."""
    axes.get_xlim(), axes.get_ylim()  # asking makes matplotlib work out the scales
    transform = axes.transData.transform
    last = float("-inf")
    for y, x, name in sorted(ends):
        height = transform((x, y))[1]
        shift = max(0.0, last + 15 - height)
        last = height + shift
        axes.annotate(name, (x, y), xytext=(6, shift * 72 / axes.figure.dpi), textcoords="offset points", va="center")
