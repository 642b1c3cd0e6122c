"""Which separator a table has, which of its columns are the text and the label, and whether it has a header."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from helpers.corpora.reading import Rejected

TEXT_NAMES = ("headline", "title", "text", "sentence", "review", "content", "news", "tweet")
LABEL_NAMES = ("label", "sentiment", "labels", "class", "class index", "category", "target", "polarity", "decisions")
SEPARATORS = ("\t", "@", ";", "|", ",")
LABEL = re.compile(r"[^\s\"'{}\[\]:;,|@!?]{1,20}(?: [^\s\"'{}\[\]:;,|@!?]{1,20}){0,2}")  # up to three words
_CERTAIN = re.compile(r"[+-]?\d+(?:[.,]\d+)?|pos(?:itive)?|neg(?:ative)?|neutral|true|false|\{.*\}", re.IGNORECASE)

Record = tuple[int, list[str]]  # the line on which it begins, and its cells


class Row(NamedTuple):
    """The text and the label of one record as they stand, and the line on which it begins."""

    line: int
    text: str
    label: str


class Layout(NamedTuple):
    """How many columns there are, and where text and label stand."""

    columns: int
    text: int
    label: int

    def row(self, record: Record, separator: str) -> Row | Rejected:
        """Take text and label out of a record. In a table of two columns, separators too many belong to the text."""
        line, cells = record
        while len(cells) > self.columns and not cells[-1].strip():
            cells = cells[:-1]
        extra = len(cells) - self.columns
        if extra < 0 or (extra > 0 and self.columns > 2):
            found = f"{len(cells)} column" + "s" * (len(cells) > 1)
            return Rejected(line, f"{found} where {self.columns} are expected")
        label = cells[self.label + extra] if self.label > self.text else cells[self.label]
        return Row(line, separator.join(cells[self.text : self.text + extra + 1]), label)


def bare(cell: str) -> str:
    """Return a cell without the white space and quotes around it."""
    return cell.strip().strip("\"'").strip()


def like_label(cell: str) -> bool:
    """Tell whether a cell is short enough, and of the right characters, for a label."""
    return bool(LABEL.fullmatch(bare(cell)))


def choose_separator(lines: Sequence[str], first_lines: Sequence[str]) -> str:
    """Return the separator that a header among the first lines shows, else the one at which most lines end in a label,
    or begin with one. (`lines` may have been emptied of quoted texts, `first_lines` not: names may be quoted.)"""
    for line in first_lines:
        for separator in SEPARATORS:
            if _is_header(line.split(separator)):
                return separator
    if 2 * sum("\t" in line for line in lines) >= len(lines):
        return "\t"

    def fitting(separator: str, cell: int) -> int:
        parts = (line.rstrip().rsplit(separator, 1) if cell else line.split(separator, 1) for line in lines)
        return sum(len(part) == 2 and like_label(part[cell]) for part in parts)

    last = max(SEPARATORS, key=lambda separator: fitting(separator, 1))
    if 2 * fitting(last, 1) >= len(lines):
        return last
    first = max(SEPARATORS, key=lambda separator: fitting(separator, 0))
    return max(first, last, key=lambda separator: max(fitting(separator, 0), fitting(separator, 1)))


def choose_layout(records: Sequence[Record]) -> tuple[Layout, int | None, list[str]]:
    """Return the layout, the place of the header among the records or None, and what was doubtful."""
    for place, (_, cells) in enumerate(records[:3]):
        if _is_header(cells):
            names = [bare(cell).casefold() for cell in cells]
            label = next(names.index(name) for name in LABEL_NAMES if name in names)
            text = next((names.index(name) for name in TEXT_NAMES if name in names), None)
            if text is not None:
                return Layout(len(names), text, label), place, []
            text = _longest(records[place + 1 :], len(names), label)
            return Layout(len(names), text, label), place, [f"column {names[text]!r} is taken for the text"]
    whole = [cells for _, cells in records if len(cells) > 1]
    warnings = []
    if whole and Counter(map(len, whole)).most_common(1)[0][0] > 2:
        warnings.append("more than two columns and no header: all but the label are read as the text")
    first, last = [bare(cells[0]) for cells in whole], [bare(cells[-1]) for cells in whole]
    return (Layout(2, 1, 0) if _label_is_first(first, last) else Layout(2, 0, 1)), None, warnings


def without_empty_columns(records: list[Record]) -> list[Record]:
    """Cut columns at the end that are empty in every record, as spreadsheets leave them."""
    while records and all(len(cells) > 2 and not cells[-1].strip() for _, cells in records):
        records = [(line, cells[:-1]) for line, cells in records]
    return records


def _is_header(cells: Sequence[str]) -> bool:
    """A header names the label and, unless there are two columns, may name the text; it holds no label itself."""
    names = [bare(cell).casefold() for cell in cells]
    known = any(name in LABEL_NAMES for name in names)
    named = len(names) == 2 or any(name in TEXT_NAMES for name in names) or all(map(like_label, names))
    return len(names) > 1 and known and named and not any(map(_CERTAIN.fullmatch, names))


def _longest(records: Sequence[Record], columns: int, label: int) -> int:
    """Return the column other than the label's that holds most characters."""
    sizes = [sum(len(cells[place]) for _, cells in records if len(cells) == columns) for place in range(columns)]
    return max((place for place in range(columns) if place != label), key=sizes.__getitem__)


def _label_is_first(first: Sequence[str], last: Sequence[str]) -> bool:
    """Tell whether the first column holds the labels: by certain ones, else by fewer kinds, else by their looks."""
    certain_first, certain_last = (sum(bool(_CERTAIN.fullmatch(cell)) for cell in cells) for cells in (first, last))
    if abs(certain_first - certain_last) > len(first) / 2:
        return certain_first > certain_last
    kinds_first, kinds_last = (len({cell.casefold() for cell in cells}) for cells in (first, last))
    if kinds_first != kinds_last:
        return kinds_first < kinds_last
    return sum(map(like_label, first)) > sum(map(like_label, last)) + len(first) / 5
