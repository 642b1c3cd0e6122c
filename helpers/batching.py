"""Examples to batches: padding, true lengths, and masks made from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.data import DataLoader, Sampler

from helpers.corpora import Headline
from helpers.corpora.headlines import LONG
from helpers.text import Vocabulary

PADDING = 0  # the number of `<pad>` in every vocabulary
IGNORED = -100  # a target that is none; PyTorch's cross-entropy leaves it out


class WordBatch(NamedTuple):
    """`tokens` [batch, time] int64 and for each the next word as `targets` [batch, time], IGNORED where none counts."""

    tokens: torch.Tensor
    targets: torch.Tensor


class Batch(NamedTuple):
    """`tokens` [batch, time] int64, padded at the end; `lengths` [batch] int64, on the CPU; `labels` [batch] int64."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    labels: torch.Tensor


@dataclass(frozen=True)
class Collate:
    """Make a `Batch` of (numbers, label) pairs; texts longer than `max_length` are cut, lengths with them.

    A class and no closure, so that worker processes can be given it. Raises ValueError for a text without tokens.
    """

    max_length: int = LONG

    def __call__(self, pairs: Sequence[tuple[Sequence[int], int]]) -> Batch:
        """Pad the texts to the longest of this batch."""
        texts = [torch.tensor(numbers[: self.max_length], dtype=torch.int64) for numbers, _ in pairs]
        lengths = torch.tensor([len(text) for text in texts], dtype=torch.int64)
        if not lengths.all():
            place = lengths.tolist().index(0)
            raise ValueError(f"example {place} of the batch has no tokens; reject empty texts when reading")
        tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=PADDING)
        return Batch(tokens, lengths, torch.tensor([int(label) for _, label in pairs], dtype=torch.int64))


def encode(examples: Sequence[Headline], vocabulary: Vocabulary, labels: Sequence[str]) -> list[tuple[list[int], int]]:
    """Return (numbers, label) for each example; a label's number is its place in `labels`.

    Raises ValueError, naming the line, for a label that is not among them.
    """
    places = {label: place for place, label in enumerate(labels)}
    for example in examples:
        if example.label not in places:
            raise ValueError(f"line {example.line}: label {example.label!r} is none of {', '.join(labels)}")
    return [(vocabulary.encode(example.tokens), places[example.label]) for example in examples]


def batches(encoded: Sequence[tuple[Sequence[int], int]], batch_size: int, *, shuffle: bool = False) -> DataLoader:
    """Return a loader of `Batch`es. The last one is smaller where the number of examples asks for it.

    The order of a shuffled loader follows `torch.manual_seed`. Batches are made in this process, without workers.
    """
    return DataLoader(encoded, batch_size=batch_size, shuffle=shuffle, collate_fn=Collate())


class Buckets(Sampler[list[int]]):
    """Batches of examples of like length, in an order that `torch.manual_seed` decides; a new one every epoch.

    Shuffled first, then sorted by length, so that batches differ from epoch to epoch wherever lengths are equal.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be 1 or more, not {batch_size}")
        self.lengths = torch.as_tensor(lengths)
        self.batch_size = batch_size

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        shuffled = torch.randperm(len(self.lengths))
        order = shuffled[self.lengths[shuffled].argsort(stable=True)]
        batches = order.split(self.batch_size)
        for place in torch.randperm(len(batches)).tolist():
            yield batches[place].tolist()


def lengths_to_mask(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Return [batch, time], True where a token is real. From lengths, never from the tokens' numbers."""
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(1)
