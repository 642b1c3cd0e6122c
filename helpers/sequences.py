"""Words to training sequences: a stream cut for truncated backpropagation, and dialogues as (prompt, reply)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.data import DataLoader

from helpers.batching import IGNORED, PADDING, Buckets, WordBatch
from helpers.corpora import END_OF_LINE, Dialogue
from helpers.text import Vocabulary


def stream_batches(numbers: Sequence[int] | torch.Tensor, batch_size: int, length: int) -> list[WordBatch]:
    """Cut a stream of words into `batch_size` long pieces that run side by side, and these into batches of `length`.

    Row r of a batch goes on where row r of the batch before ended, so that the state can be carried. What does not
    fill the rectangle is left out at the end. Raises ValueError for a stream too short for two words a row.
    """
    numbers = torch.as_tensor(numbers, dtype=torch.int64)
    time = len(numbers) // batch_size
    if time < 2:
        raise ValueError(f"{len(numbers)} words are too few for {batch_size} rows of two: take a smaller batch")
    rows = numbers[: batch_size * time].view(batch_size, time)
    return [
        WordBatch(rows[:, begin : min(begin + length, time - 1)], rows[:, begin + 1 : begin + length + 1])
        for begin in range(0, time - 1, length)
    ]


class Exchange(NamedTuple):
    """Numbers of an utterance, `<eos>`, a reply, `<eos>`; the reply begins at place `begin`."""

    numbers: torch.Tensor
    begin: int


def exchange_texts(dialogues: Sequence[Dialogue]) -> list[tuple[list[str], list[str]]]:
    """Return each exchange as words, `<eos>` at the end of both parts. Words are parted by spaces, as they come."""
    return [
        ([*utterance.split(), END_OF_LINE], [*reply.split(), END_OF_LINE])
        for dialogue in dialogues
        for utterance, reply in dialogue.exchanges
    ]


def encode_exchanges(texts: Sequence[tuple[list[str], list[str]]], vocabulary: Vocabulary) -> list[Exchange]:
    """Return the numbers of each exchange."""
    return [
        Exchange(torch.tensor(vocabulary.encode([*prompt, *reply]), dtype=torch.int64), len(prompt))
        for prompt, reply in texts
    ]


@dataclass(frozen=True)
class CollateExchanges:
    """Make a `WordBatch` in which only words of replies are targets; longer exchanges are cut to `length` steps.

    Padded to the batch's longest, or with `fixed` always to `length`.
    """

    length: int = 50
    fixed: bool = False

    def __call__(self, exchanges: Sequence[Exchange]) -> WordBatch:
        """Pad the exchanges to one rectangle."""
        cut = [numbers[: self.length + 1] for numbers, _ in exchanges]
        time = self.length if self.fixed else max(len(numbers) for numbers in cut) - 1
        tokens = torch.full((len(cut), time), PADDING)
        targets = torch.full((len(cut), time), IGNORED)
        for row, (numbers, (_, begin)) in enumerate(zip(cut, exchanges, strict=True)):
            tokens[row, : len(numbers) - 1] = numbers[:-1]
            targets[row, begin - 1 : len(numbers) - 1] = numbers[begin:]
        return WordBatch(tokens, targets)


def exchange_batches(
    exchanges: Sequence[Exchange],
    batch_size: int,
    *,
    buckets: bool,
    length: int = 50,
    shuffle: bool = True,
    pin_memory: bool = False,
) -> DataLoader:
    """Return a loader of `WordBatch`es: in buckets by length, or as they come and padded to `length`.

    Buckets come in a new order every time; `shuffle` is for the others. Exchanges whose utterance fills the length
    have no target and are left out.
    With `pin_memory` they lie in page-locked memory, from which a GPU copies without waiting.
    """
    exchanges = [exchange for exchange in exchanges if exchange.begin <= length]
    options = {"collate_fn": CollateExchanges(length, fixed=not buckets), "pin_memory": pin_memory}
    if not buckets:
        return DataLoader(exchanges, batch_size=batch_size, shuffle=shuffle, **options)
    lengths = [len(exchange.numbers) for exchange in exchanges]
    return DataLoader(exchanges, batch_sampler=Buckets(lengths, batch_size), **options)
