"""Training and judging a model: fit, evaluate, and baselines to compare with."""

import contextlib
import dataclasses
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from tqdm.auto import tqdm

from helpers.checkpoints import read_checkpoint, restore, save_checkpoint
from helpers.corpora import Headline
from helpers.device import to_device
from helpers.distributed import ALONE, Ranks

CHECK_EVERY = 100  # steps between two looks at the loss; each look makes an accelerator wait


@dataclass
class History:
    """One plain float an epoch; gradient norms are the largest of an epoch, before clipping."""

    train_loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Evaluation:
    """Mean loss, share of right answers, and for each example the probabilities [examples, classes] and the label."""

    loss: float
    accuracy: float
    probabilities: Tensor
    labels: Tensor

    @property
    def predictions(self) -> Tensor:
        """The most probable class of each example, [examples]."""
        return self.probabilities.argmax(1)


def fit(
    model: nn.Module,
    train_batches: Iterable,
    *,
    optimizer: torch.optim.Optimizer,
    epochs: int,
    device: torch.device | str = "cpu",
    seed: int = 0,
    clip: float = 1.0,
    test_batches: Iterable | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    facts: dict[str, Any] | None = None,
    accumulate: int = 1,
    ranks: Ranks = ALONE,
) -> History:
    """Train `model` on batches of (tokens, lengths, labels) and return what happened, an entry an epoch.

    The gradient's norm is clipped at `clip`; each step takes the mean gradient over `accumulate` batches. Each epoch's
    randomness (order, dropout) follows from `seed`, the rank and the epoch's number alone, so that a run that was
    stopped and resumed ends in the same weights.
    With several `ranks`, `model` is in DDP and the batches are this rank's share; rank 0 alone writes and prints.
    With `checkpoint`, the state is saved after every epoch, `facts` (seed, data, sizes) with it; with `resume`,
    training goes on from there. Shows a bar on a terminal and in a notebook (unless TQDM_DISABLE is set), and prints
    a line an epoch outside notebooks.
    Raises FloatingPointError, naming epoch and step, where the loss is not finite; CheckpointError where the
    checkpoint belongs to other facts.
    """
    history, facts = History(), {**(facts or {}), "seed": seed}
    model.to(device)  # before the optimizer's state is loaded, which goes where the weights are
    saved = None
    if resume and checkpoint is not None:
        saved = ranks.from_first(lambda: read_checkpoint(checkpoint, model, facts))
    if saved is not None:
        restore(saved, model, optimizer)
        history = History(**saved["history"])
        if ranks.first:
            print(f"resumed after epoch {len(history.train_loss)} from {checkpoint}", flush=True)
    elif resume and ranks.first:
        print(f"nothing to resume at {checkpoint}: training from the start", flush=True)
    in_notebook = _in_notebook()
    with_bar = (in_notebook or (sys.stdout.isatty() and sys.stderr.isatty())) and not os.environ.get("TQDM_DISABLE")
    with_bar &= ranks.first
    for epoch in range(len(history.train_loss), epochs):
        torch.manual_seed(1_000_003 * (seed * ranks.world_size + ranks.rank) + epoch)
        if isinstance(train_batches, DataLoader) and isinstance(train_batches.sampler, DistributedSampler):
            train_batches.sampler.set_epoch(epoch)  # else every epoch has the order of the first
        start = time.perf_counter()
        shown = tqdm(train_batches, f"epoch {epoch + 1}/{epochs}", leave=False) if with_bar else train_batches
        loss, norm = _train_epoch(model, shown, optimizer, torch.device(device), clip, epoch + 1, accumulate, ranks)
        history.train_loss.append(loss)
        history.gradient_norm.append(norm)
        history.seconds.append(time.perf_counter() - start)
        if test_batches is not None:
            result = evaluate(model, test_batches, device, ranks)
            history.test_loss.append(result.loss)
            history.test_accuracy.append(result.accuracy)
        if checkpoint is not None:
            state = dataclasses.asdict(history)
            ranks.from_first(lambda state=state: save_checkpoint(checkpoint, model, optimizer, facts, history=state))
        if not in_notebook and ranks.first:
            print(_line(history, epochs), flush=True)
    return history


def evaluate(
    model: nn.Module, test_batches: Iterable, device: torch.device | str = "cpu", ranks: Ranks = ALONE
) -> Evaluation:
    """Judge `model` on every example once, without dropout and without gradients; its mode is put back afterwards.

    With several `ranks` each brings the batches of its share, without repeats, and gets the judgement of all.
    """
    if isinstance(model, DistributedDataParallel):
        model = model.module  # nothing to synchronise, and shares may differ in their number of batches
    modes = {module: module.training for module in model.modules()}
    model.to(device).eval()
    try:
        with torch.inference_mode():
            outputs = [
                (model(batch.tokens, batch.lengths), batch.labels)
                for batch in (to_device(batch, device) for batch in test_batches)
            ]
    finally:
        for module, mode in modes.items():
            module.training = mode
    own = [torch.cat(parts).cpu() for parts in zip(*outputs, strict=True)]  # none, where a share is empty
    logits, labels = (torch.cat(parts) for parts in zip(*ranks.gathered([own] if own else []), strict=True))
    return Evaluation(
        loss=nn.functional.cross_entropy(logits.float(), labels).item(),
        accuracy=(logits.argmax(1) == labels).double().mean().item(),
        probabilities=logits.float().softmax(1),
        labels=labels,
    )


def majority(train: Sequence[Headline]) -> str:
    """Return the most frequent label of `train`: the answer of a baseline that reads nothing."""
    return Counter(example.label for example in train).most_common(1)[0][0]


def bag_of_words(train: Sequence[Headline], test: Sequence[Headline]) -> list[str]:
    """Return a label for each of `test`: tf-idf over one and two words with logistic regression, a baseline to beat."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # seconds to import, and only needed here
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    bag = make_pipeline(
        TfidfVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, ngram_range=(1, 2)),
        LogisticRegression(C=10, max_iter=1000),
    )
    bag.fit([" ".join(example.tokens) for example in train], [example.label for example in train])
    return bag.predict([" ".join(example.tokens) for example in test]).tolist()


def _train_epoch(
    model: nn.Module,
    train_batches: Iterable,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    clip: float,
    epoch: int,
    accumulate: int,
    ranks: Ranks,
) -> tuple[float, float]:
    """Go once over the data; return the mean loss and the largest gradient norm before clipping.

    Nothing in this loop reads a value from the device but one look every CHECK_EVERY batches.
    """
    model.train()
    losses, norms, sizes = [], [], []
    for group in _groups(train_batches, accumulate):
        optimizer.zero_grad()
        examples = sum(len(batch.labels) for batch in group)
        for place, batch in enumerate(group, 1):
            batch = to_device(batch, device)
            wait = place < len(group) and isinstance(model, DistributedDataParallel)
            with model.no_sync() if wait else contextlib.nullcontext():  # gradients cross once, with the last batch
                loss = nn.functional.cross_entropy(model(batch.tokens, batch.lengths), batch.labels)
                (loss * (len(batch.labels) / examples)).backward()
            losses.append(loss.detach())
            sizes.append(len(batch.labels))
            if len(losses) % CHECK_EVERY == 0:
                _check_finite(losses, epoch)
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip))
        optimizer.step()
    _check_finite(losses, epoch)
    weights = torch.tensor(sizes, dtype=torch.float64)
    loss = (torch.stack(losses).cpu().double() * weights).sum()
    total, count = ranks.total(torch.stack([loss, weights.sum()])).tolist()
    return total / count, torch.stack(norms).max().item()


def _groups(batches: Iterable, size: int) -> Iterator[list]:
    """Yield the batches in lists of `size`; the last may be shorter."""
    remaining = iter(batches)
    while group := list(itertools.islice(remaining, size)):
        yield group


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return hasattr(ipython and ipython.get_ipython(), "kernel")


def _check_finite(losses: Sequence[Tensor], epoch: int) -> None:
    finite = torch.stack(losses[-CHECK_EVERY:]).isfinite().tolist()
    if not all(finite):
        step = max(0, len(losses) - CHECK_EVERY) + finite.index(False) + 1
        raise FloatingPointError(
            f"the loss is not finite at epoch {epoch}, step {step}: lower the learning rate, or look at that batch"
        )


def _line(history: History, epochs: int) -> str:
    line = f"epoch {len(history.train_loss)}/{epochs}: train loss {history.train_loss[-1]:.4f}"
    if history.test_accuracy:
        line += f", test loss {history.test_loss[-1]:.4f}, test accuracy {history.test_accuracy[-1]:.4f}"
    return f"{line}, {history.seconds[-1]:.1f} s"
