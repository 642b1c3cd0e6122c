"""Training and judging a model: fit, evaluate, and baselines to compare with."""

import dataclasses
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from helpers.checkpoints import load_checkpoint, save_checkpoint
from helpers.corpora import Headline
from helpers.device import to_device

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
) -> History:
    """Train `model` on batches of (tokens, lengths, labels) and return what happened, an entry an epoch.

    The gradient's norm is clipped at `clip`. Each epoch's randomness (order, dropout) follows from `seed` and the
    epoch's number alone, so that a run that was stopped and resumed ends in the same weights.
    With `checkpoint`, the state is saved after every epoch, `facts` (seed, data, sizes) with it; with `resume`,
    training goes on from there. Shows a bar on a terminal and in a notebook (unless TQDM_DISABLE is set), and prints
    a line an epoch outside notebooks.
    Raises FloatingPointError, naming epoch and step, where the loss is not finite; CheckpointError where the
    checkpoint belongs to other facts.
    """
    history, facts = History(), {**(facts or {}), "seed": seed}
    model.to(device)  # before the optimizer's state is loaded, which goes where the weights are
    if resume and checkpoint is not None and checkpoint.exists():
        saved = load_checkpoint(checkpoint, model, optimizer, facts)
        history = History(**saved["history"])
        print(f"resumed after epoch {len(history.train_loss)} from {checkpoint}", flush=True)
    elif resume:
        print(f"nothing to resume at {checkpoint}: training from the start", flush=True)
    in_notebook = _in_notebook()
    with_bar = (in_notebook or (sys.stdout.isatty() and sys.stderr.isatty())) and not os.environ.get("TQDM_DISABLE")
    for epoch in range(len(history.train_loss), epochs):
        torch.manual_seed(1_000_003 * seed + epoch)
        start = time.perf_counter()
        shown = tqdm(train_batches, f"epoch {epoch + 1}/{epochs}", leave=False) if with_bar else train_batches
        loss, norm = _train_epoch(model, shown, optimizer, torch.device(device), clip, epoch + 1)
        history.train_loss.append(loss)
        history.gradient_norm.append(norm)
        history.seconds.append(time.perf_counter() - start)
        if test_batches is not None:
            result = evaluate(model, test_batches, device)
            history.test_loss.append(result.loss)
            history.test_accuracy.append(result.accuracy)
        if checkpoint is not None:
            save_checkpoint(checkpoint, model, optimizer, facts, history=dataclasses.asdict(history))
        if not in_notebook:
            print(_line(history, epochs), flush=True)
    return history


def evaluate(model: nn.Module, test_batches: Iterable, device: torch.device | str = "cpu") -> Evaluation:
    """Judge `model` on every example once, without dropout and without gradients; its mode is put back afterwards."""
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
    logits, labels = (torch.cat(parts).cpu() for parts in zip(*outputs, strict=True))
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
) -> tuple[float, float]:
    """Go once over the data; return the mean loss and the largest gradient norm before clipping.

    Nothing in this loop reads a value from the device but one look every CHECK_EVERY steps.
    """
    model.train()
    losses, norms, sizes = [], [], []
    for batch in train_batches:
        batch = to_device(batch, device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch.tokens, batch.lengths), batch.labels)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip))
        optimizer.step()
        losses.append(loss.detach())
        sizes.append(len(batch.labels))
        if len(losses) % CHECK_EVERY == 0:
            _check_finite(losses, epoch)
    _check_finite(losses, epoch)
    weights = torch.tensor(sizes, dtype=torch.float64)
    loss = (torch.stack(losses).cpu().double() * weights).sum() / weights.sum()
    return loss.item(), torch.stack(norms).max().item()


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
