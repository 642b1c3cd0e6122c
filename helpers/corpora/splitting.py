"""Examples to a training and a test set that share nothing."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from helpers.corpora.headlines import Headline
from helpers.corpora.reading import CorpusError, Reading


@dataclass(frozen=True)
class Split:
    """Two sets with no text in common."""

    train: tuple[Headline, ...]
    test: tuple[Headline, ...]


def distinct(examples: Iterable[Headline]) -> tuple[Headline, ...]:
    """Return one of each text, and none of a text that has more than one label. Texts are compared as tokens."""
    groups = defaultdict(list)
    for example in examples:
        groups[" ".join(example.tokens)].append(example)
    return tuple(group[0] for group in groups.values() if len({example.label for example in group}) == 1)


def split(examples: Iterable[Headline], test_share: float = 0.2) -> Split:
    """Split the distinct examples, each class in the same proportion.

    A text's side follows from its own SHA-256: the split needs no seed, is the same on every machine, and hardly
    moves when a file grows. Every class keeps at least one example to train on. Raises ValueError for a
    share that is not between 0 and 1.
    """
    if not 0 < test_share < 1:
        raise ValueError(f"test_share must be between 0 and 1, not {test_share}")
    classes = defaultdict(list)
    for example in distinct(examples):
        classes[example.label].append(example)
    train, test = [], []
    for members in classes.values():
        members.sort(key=_place)
        count = min(max(1, round(test_share * len(members))), len(members) - 1)
        test += members[:count]
        train += members[count:]
    return Split(tuple(sorted(train, key=_place)), tuple(sorted(test, key=_place)))


def overlap(train: Sequence[Headline], test: Sequence[Headline]) -> tuple[Headline, ...]:
    """Return the examples of `test` whose text, compared as tokens, stands in `train` too."""
    known = {tuple(example.tokens) for example in train}
    return tuple(example for example in test if tuple(example.tokens) in known)


def refuse_untrainable(reading: Reading[Headline]) -> None:
    """Raise CorpusError where nothing can be trained on a file: no row, one class, or too few rows to split.

    Repeats and texts with more than one label do not count: `split` leaves them out.
    """
    labels = Counter(example.label for example in distinct(reading.examples))
    if not labels:
        found = (
            f"; {len(reading.rejected)} rejected, the first: {reading.rejected[0].reason}" if reading.rejected else ""
        )
        raise CorpusError(
            f"{reading.path}: no row can be used{found}; give a headline and a label a line, a tab between"
        )
    if len(labels) == 1:
        raise CorpusError(f"{reading.path}: all usable rows have one class, {next(iter(labels))!r}; give two or more")
    if labels.total() <= len(labels):
        raise CorpusError(
            f"{reading.path}: too few rows to split, {labels.total()} for {len(labels)} classes (repeats left out); "
            "give at least one to train on for each class, and one to test on"
        )


def _place(example: Headline) -> str:
    return hashlib.sha256(" ".join(example.tokens).encode()).hexdigest()
