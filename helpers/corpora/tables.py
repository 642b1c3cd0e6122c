"""Lines to rows of a text and a label: the format is recognised, and every line is a row or rejected."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.corpora.layout import (
    LABEL_NAMES,
    TEXT_NAMES,
    Row,
    choose_layout,
    choose_separator,
    without_empty_columns,
)
from helpers.corpora.quoted import looks_quoted, quoted_records, without_quoted_separators
from helpers.corpora.reading import Rejected

_FASTTEXT = "__label__"


@dataclass
class Table:
    """Rows of a file, what could not be made one, and what was doubtful."""

    rows: list[Row] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, row: Row | Rejected) -> None:
        """Put a row where it belongs."""
        (self.rejected if isinstance(row, Rejected) else self.rows).append(row)


def read_rows(path: Path, lines: Sequence[str]) -> Table:
    """Make rows of `lines`; blank ones are passed over. There must be one that is not blank."""
    filled = [line for line in lines if line.strip()]
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson", ".json") or _most(filled, "{"):
        return _json_rows(lines)
    if _most(filled, _FASTTEXT):
        return _fasttext_rows(lines)
    quoted = suffix == ".csv" or (suffix != ".tsv" and not _most_have_tabs(filled) and looks_quoted(filled))
    if quoted:
        separator = choose_separator([without_quoted_separators(line) for line in filled], filled[:3])
        records, warnings = quoted_records(lines, separator)
    else:
        separator = choose_separator(filled, filled[:3])
        records, warnings = [(number, line.split(separator)) for number, line in _numbered(lines)], []
    table = Table(warnings=warnings)
    records = without_empty_columns(records)
    layout, header, doubts = choose_layout(records)
    table.warnings += doubts
    if header is not None:
        names = records[header][1]
        table.warnings.append(f"line {records[header][0]} is a header and no example")
        table.rejected += [Rejected(line, "stands before the header") for line, _ in records[:header]]
        table.rejected += [
            Rejected(line, "the header again") for line, cells in records[header + 1 :] if cells == names
        ]
        records = [record for record in records[header + 1 :] if record[1] != names]
    for record in records:
        table.add(layout.row(record, separator))
    return table


def _numbered(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _most(lines: Sequence[str], start: str) -> bool:
    return sum(line.lstrip().startswith(start) for line in lines) > len(lines) / 2


def _most_have_tabs(lines: Sequence[str]) -> bool:
    return sum("\t" in line for line in lines) > len(lines) / 2


def _fasttext_rows(lines: Sequence[str]) -> Table:
    table = Table()
    for number, line in _numbered(lines):
        label, _, text = line.strip().partition(" ")
        if not label.startswith(_FASTTEXT):
            table.add(Rejected(number, f"no {_FASTTEXT} at its start"))
        elif text.lstrip().startswith(_FASTTEXT):
            table.add(Rejected(number, "more than one label"))
        else:
            table.add(Row(number, text, label.removeprefix(_FASTTEXT)))
    return table


def _json_rows(lines: Sequence[str]) -> Table:
    """Read one JSON object a line; a list of objects, on one line or over several, is read as well."""
    table = Table()
    for number, line in _numbered(lines):
        text = line.strip().rstrip(",")
        if text in ("[", "]"):
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f": {error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            table.add(Rejected(number, f"no JSON object{where}"))
            continue
        for entry in record if isinstance(record, list) else [record]:
            table.add(_json_row(number, entry))
    return table


def _json_row(line: int, record: Any) -> Row | Rejected:
    if not isinstance(record, dict):
        return Rejected(line, "JSON, but no object with a text and a label")
    fields = {str(name).strip().casefold(): value for name, value in record.items()}
    found = []
    for kind, names in (("text", TEXT_NAMES), ("label", LABEL_NAMES)):
        value = next((fields[name] for name in names if fields.get(name) is not None), None)
        if value is None:
            return Rejected(line, f"no {kind}")
        if not isinstance(value, str | int) and not (isinstance(value, float) and math.isfinite(value)):
            return Rejected(line, f"its {kind} is no string")
        found.append(str(value))
    return Row(line, *found)
