"""Lines to rows of a text and a label: separators, quotes, headers, JSON lines."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.reading import Rejected, number_list

_TEXT_NAMES = ("headline", "title", "text", "sentence", "review", "content", "news", "tweet")
_LABEL_NAMES = ("label", "sentiment", "labels", "class", "class index", "category", "target", "polarity", "decisions")
_SEPARATORS = ("\t", "@", ";", "|", ",")
_LONGEST_RECORD = 20  # lines; a quote that is open for longer was never meant to open


class Row(NamedTuple):
    """The text and the label of one record as they stand, and the line on which it begins."""

    line: int
    text: str
    label: str


@dataclass
class Table:
    """Rows of a file, what could not be made one, and what was doubtful."""

    rows: list[Row] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Layout(NamedTuple):
    columns: int
    text: int
    label: int

    def row(self, line: int, cells: Sequence[str], separator: str) -> Row | Rejected:
        """Take text and label out of a record; separators too many belong to the text."""
        extra = len(cells) - self.columns
        if extra < 0:
            return Rejected(line, f"{len(cells)} column{'s'[: len(cells) > 1]} where {self.columns} are expected")
        label = cells[self.label + extra] if self.label > self.text else cells[self.label]
        return Row(line, separator.join(cells[self.text : self.text + extra + 1]), label)


def read_rows(path: Path, lines: Sequence[str]) -> Table:
    """Recognise the format of `lines` and make rows of them; blank lines are passed over."""
    filled = [line for line in lines if line.strip()]
    if path.suffix in (".jsonl", ".ndjson", ".json") or filled[0].lstrip().startswith("{"):
        return _json_rows(lines)
    if all(line.startswith("__label__") for line in filled):
        pairs = ((number, line.split(maxsplit=1)) for number, line in _numbered(lines))
        return _table(list(pairs), " ", _Layout(2, 1, 0))
    table = Table()
    if path.suffix == ".csv" or _looks_quoted(filled):
        separator = max((",", ";", "\t", "|"), key=_outside_quotes(filled[0]).count)
        records = list(_csv_records(lines, separator, table))
    else:
        separator = _separator(filled)
        records = [(number, line.rstrip().split(separator)) for number, line in _numbered(lines)]
    layout, header = _layout(records)
    found = _table(records[1:] if header else records, separator, layout)
    if header:
        table.warnings.append(f"line {records[0][0]} is a header and no example")
    return Table(found.rows, table.rejected + found.rejected, table.warnings + found.warnings)


def _numbered(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _table(records: Sequence[tuple[int, Sequence[str]]], separator: str, layout: _Layout) -> Table:
    table = Table()
    for line, cells in records:
        row = layout.row(line, cells, separator)
        (table.rejected if isinstance(row, Rejected) else table.rows).append(row)
    return table


def _separator(lines: Sequence[str]) -> str:
    """Return the separator after which most lines end in something that a label could be."""
    def fitting(separator: str) -> int:
        return sum(separator in line.rstrip() and _like_label(line.rstrip().rsplit(separator, 1)[1]) for line in lines)

    with_tabs = sum("\t" in line.rstrip() for line in lines)
    return "\t" if 2 * with_tabs >= len(lines) else max(_SEPARATORS, key=fitting)


def _like_label(cell: str) -> bool:
    """A label is short: up to three words of letters, digits, + and -."""
    return bool(re.fullmatch(r"\s*\"?[\w+/-]{1,20}(?: [\w+/-]{1,20}){0,2}\"?\s*", cell))


def _layout(records: Sequence[tuple[int, Sequence[str]]]) -> tuple[_Layout, bool]:
    """Tell the columns of text and label: by a header's names, else by which of the ends looks like labels."""
    names = [cell.strip().strip('"').casefold() for cell in records[0][1]]
    label = next((names.index(name) for name in _LABEL_NAMES if name in names), None)
    text = next((names.index(name) for name in _TEXT_NAMES if name in names), None)
    if label is not None and (text is not None or len(names) == 2):
        return _Layout(len(names), 1 - label if text is None else text, label), True
    whole = [cells for _, cells in records if len(cells) > 1] or [["", ""]]
    first, last = [cells[0] for cells in whole], [cells[-1] for cells in whole]
    share_first = sum(map(_like_label, first)) / len(whole)
    share_last = sum(map(_like_label, last)) / len(whole)
    fewer_first = len(Counter(first)) < len(Counter(last))
    if share_first > share_last + 0.2 or (share_first > share_last - 0.2 and fewer_first):
        return _Layout(2, 1, 0), False
    return _Layout(2, 0, 1), False


def _looks_quoted(lines: Sequence[str]) -> bool:
    """Whether most lines are whole CSV records that begin with a quote, whatever the file is called."""
    whole = [line for line in lines if re.match(r'\s*"[^"]*(?:""[^"]*)*"\s*[,;|]', line)]
    return len(whole) > 0.5 * len(lines)


def _outside_quotes(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line)


def _csv_records(lines: Sequence[str], separator: str, table: Table) -> Iterator[tuple[int, list[str]]]:
    """Read CSV so that a stray quote spoils its own line and no other.

    A quoted field may go over several lines; but where a line inside it is a whole record by itself, the quote
    that opened it is taken as a plain character, and so is one that is followed by more text.
    """
    columns = len(_outside_quotes(lines[0]).split(separator))
    stray, start = [], 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        cells, span = _quoted_record(lines[start : start + _LONGEST_RECORD], separator)
        inside = lines[start + 1 : start + span]
        if cells is None or any(
            line.count('"') % 2 == 0 and len(_outside_quotes(line).split(separator)) >= columns > 1 for line in inside
        ):
            stray.append(start + 1)
            cells, span = lines[start].split(separator), 1
        yield start + 1, cells
        start += span
    if stray:
        table.warnings.append(f"a stray quote, read as a plain character: lines {number_list(stray)}")


def _quoted_record(lines: Sequence[str], separator: str) -> tuple[list[str] | None, int]:
    """Return the record that begins on the first line and its number of lines; None where the quotes are wrong."""
    for span in range(1, len(lines) + 1):
        try:
            text = io.StringIO("\n".join(lines[:span]), newline="")
            return next(csv.reader(text, delimiter=separator, strict=True)), span
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                break
    return None, 1


def _json_rows(lines: Sequence[str]) -> Table:
    """Read one JSON object a line."""
    table = Table()
    for number, line in _numbered(lines):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            table.rejected.append(Rejected(number, f"no JSON object: {error.msg} at column {error.colno}"))
            continue
        if not isinstance(record, dict):
            table.rejected.append(Rejected(number, "JSON, but no object with a text and a label"))
            continue
        fields = {str(name).strip().casefold(): value for name, value in record.items()}
        text, label = (
            next((fields[name] for name in names if fields.get(name) is not None), None)
            for names in (_TEXT_NAMES, _LABEL_NAMES)
        )
        if text is None or label is None:
            table.rejected.append(Rejected(number, f"no {'text' if text is None else 'label'}"))
        else:
            table.rows.append(Row(number, str(text), str(label)))
    return table
