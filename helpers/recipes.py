"""A training run as data: which layer, which softmax, which batches, which rate; and a run that follows it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from helpers.batching import IGNORED, Batch, WordBatch
from helpers.compiling import compiled
from helpers.device import to_device
from helpers.language import State, WordModel, detach
from helpers.precision import autocast_dtype, optimizer_step
from helpers.timing import synchronised_clock


@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults are the source article's loop, with its gradient clipped."""

    cell: str = "rnn"
    softmax: Literal["full", "adaptive"] = "full"
    pooling: Literal["last", "max"] = "last"  # of a classifier
    buckets: bool = False  # batches of like length; else padded to a fixed length
    everywhere: bool = True  # scores at every step, also where there is no target
    batch_size: int = 32
    learning_rate: float = 2e-3
    clip: float | None = 1.0
    compile: Literal["", "model", "output"] = ""
    autocast: bool = False
    tf32: bool = False  # on CUDA: matrix products with 10 bits of mantissa
    adam: Literal["", "fused", "foreach"] = ""  # "" is torch's own choice: foreach on CUDA, a loop on a CPU
    output_chunks: int = 1  # the output layer in so many pieces, each computed again in the backward pass
    segments: int = 1  # the layer over so many pieces of time, each computed again in the backward pass
    pin_memory: bool = False  # on CUDA: batches in page-locked memory, copied while the device works
    cuda_graph: bool = False  # on CUDA: the whole step recorded and replayed; wants fixed padding and scores everywhere


class Run:
    """A model in training by a recipe: `step` for a batch, `epoch` for the clock, `loss` for a look at the numbers.

    The model, and the order of the batches, follow from `seed`.
    """

    def __init__(
        self,
        recipe: Recipe,
        build: Callable[[Recipe], nn.Module],
        loader: Callable[[Recipe], Iterable],
        *,
        carry: bool = False,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        torch.manual_seed(seed)
        self.recipe, self.carry, self.device = recipe, carry, torch.device(device)
        self.model = build(recipe).to(self.device)
        self.batches = loader(recipe)
        flags = {"fused": {"fused": True}, "foreach": {"foreach": True}, "": {}}
        if recipe.cuda_graph:
            flags[recipe.adam]["capturable"] = True
        self.optimizer = torch.optim.Adam(self.model.parameters(), recipe.learning_rate, **flags[recipe.adam])
        self._graphed: GraphedStep | None = None
        self.state: State | None = None
        self._call = compiled(self.model) if recipe.compile == "model" else self.model
        half = recipe.autocast and autocast_dtype(self.device) is torch.float16
        self._scaler = torch.amp.GradScaler(self.device.type) if half else None
        self._output_loss = None
        if isinstance(self.model, WordModel):
            self._output_loss = self.model.output_loss
            if recipe.compile == "output":
                self._output_loss = compiled(self.model.output_loss, dynamic=not carry)

    def loss(self, batch: Batch | WordBatch) -> Tensor:
        """Return the mean loss of a batch on the device; a carried state goes on from the batch before."""
        dtype = autocast_dtype(self.device)
        with torch.autocast(self.device.type, dtype=dtype, enabled=self.recipe.autocast):
            if isinstance(batch, Batch):
                return nn.functional.cross_entropy(self._call(batch.tokens, batch.lengths), batch.labels)
            state = detach(self.state) if self.carry else None
            if state is not None and batch.tokens.size(0) != _rows(state):
                state = None
            hidden, state = self._over_time(batch.tokens, state)
            self.state = state if self.carry else None  # else it would hold the last graph
            return self._output(hidden.flatten(0, 1), batch.targets.flatten())

    def step(self, batch: Batch | WordBatch) -> None:
        """Forward, backward, clip, and one step of Adam."""
        batch = to_device(batch, self.device, non_blocking=self.recipe.pin_memory)
        if not self.recipe.cuda_graph:
            self._plain_step(batch)
            return
        if self._graphed is None:
            self._graphed = GraphedStep(self._plain_step)
        self._graphed(batch)

    def _plain_step(self, batch: Batch | WordBatch) -> None:
        self.optimizer.zero_grad()
        with self.precision():
            loss = self.loss(batch)
            optimizer_step(loss, self.optimizer, self.model.parameters(), clip=self.recipe.clip, scaler=self._scaler)

    def epoch(self, every: int | None = None) -> Iterator[float]:
        """Train over the data once; yield the seconds of work so far after each `every` steps, and at the end.

        What is done between (an evaluation) is outside of the clock; making the batches is inside. The device is
        waited for only where the clock is read.
        """
        self.state, worked = None, 0.0
        last = len(self.batches)
        self.model.train()
        start = synchronised_clock(self.device)
        for count, batch in enumerate(self.batches, start=1):
            self.step(batch)
            if count == last or (every and count % every == 0):
                worked += synchronised_clock(self.device) - start
                yield worked
                self.model.train()
                start = synchronised_clock(self.device)

    def _over_time(self, tokens: Tensor, state: State | None) -> tuple[Tensor, State]:
        if self.recipe.segments == 1:
            return self._call(tokens, state)
        pieces = []
        for piece in tokens.chunk(self.recipe.segments, dim=1):
            hidden, state = checkpoint(self._call, piece, state, use_reentrant=False)
            pieces.append(hidden)
        return torch.cat(pieces, dim=1), state

    def _output(self, hidden: Tensor, targets: Tensor) -> Tensor:
        chunks = self.recipe.output_chunks
        if chunks > 1 or not self.recipe.everywhere:
            real = targets != IGNORED
            hidden, targets = hidden[real], targets[real]
        if chunks == 1:
            return self._output_loss(hidden, targets)
        parts = [
            len(wanted) * checkpoint(self._output_loss, some, wanted, use_reentrant=False)
            for some, wanted in zip(hidden.chunk(chunks), targets.chunk(chunks), strict=True)
        ]
        return torch.stack(parts).sum() / len(targets)

    @contextlib.contextmanager
    def precision(self) -> Iterator[None]:
        """Multiply float32 matrices in TF32 or not, as the recipe says, inside the block; cuDNN's layers alike."""
        before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        torch.set_float32_matmul_precision("high" if self.recipe.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = self.recipe.tf32  # else a cuDNN layer takes it while a plain product does not
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before[0])
            torch.backends.cudnn.allow_tf32 = before[1]


class GraphedStep:
    """A step that is recorded as a CUDA graph once for each shape of batch, and then replayed by a single launch.

    Each batch is copied into the tensors that were recorded. A recorded step may not wait for the device, and carries
    no state. Recording runs the step three times before, as the manual asks for
    (https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs): the first batch is trained on more than once.
    """

    def __init__(self, step: Callable[[WordBatch], None]) -> None:
        self.step = step
        self.recorded: dict[torch.Size, tuple[torch.cuda.CUDAGraph, WordBatch]] = {}

    def __call__(self, batch: WordBatch) -> None:
        """Train on `batch`, which is on the device."""
        if batch.tokens.shape not in self.recorded:
            self.recorded[batch.tokens.shape] = self._record(WordBatch(*(part.clone() for part in batch)))
        graph, held = self.recorded[batch.tokens.shape]
        for place, part in zip(held, batch, strict=True):
            place.copy_(part)
        graph.replay()

    def _record(self, held: WordBatch) -> tuple[torch.cuda.CUDAGraph, WordBatch]:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self.step(held)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step(held)
        return graph, held


def _rows(state: State) -> int:
    return (state if isinstance(state, Tensor) else state[0]).size(1)
