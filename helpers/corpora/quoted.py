"""Lines to the records of a quoted CSV, so that a stray quote spoils its own line and no other."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

from helpers.corpora.layout import SEPARATORS, Record, like_label
from helpers.corpora.reading import number_list

_LONGEST_RECORD = 20  # lines; a quote that is open for longer was never meant to open


def without_quoted_separators(line: str) -> str:
    """Return a line whose quoted parts have lost what could be taken for a separator."""
    return re.sub(r'"[^"]*"', lambda quoted: re.sub(f"[{''.join(SEPARATORS)}]", " ", quoted[0]), line)


def looks_quoted(lines: Sequence[str]) -> bool:
    """Tell whether most lines are CSV by their looks: quoted at the start, a label or a quote at the end."""

    def fits(line: str) -> bool:
        found = re.match(r'\s*"(?:[^"]|"")*"\s*([,;|])', line)
        last = line.rstrip().rsplit(found[1], 1)[1] if found else ""
        return bool(found) and (last.endswith('"') or like_label(last))

    return sum(map(fits, lines)) > len(lines) / 2


def quoted_records(lines: Sequence[str], separator: str) -> tuple[list[Record], list[str]]:
    """Return the records, and warnings of stray quotes and of texts that go over several lines.

    A quoted text may go over lines. But where one of those lines begins or ends with what stands at the ends of other
    lines as well, a label, say, it is a row that a stray quote has swallowed: that quote is then a plain character.
    """
    ends = _count_ends(lines, separator)
    records, stray, several, start = [], [], [], 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        cells, span = _record(lines[start : start + _LONGEST_RECORD], separator)
        part = lines[start : start + span]
        if cells is None or (span > 1 and _swallows(part, separator, ends)):
            cells, span = lines[start].split(separator), 1
            stray.append(start + 1)
        if span > 1:
            several.append(start + 1)
        records.append((start + 1, cells))
        start += span
    warnings = []
    if stray:
        warnings.append(f"a stray quote, read as a plain character: lines {number_list(stray)}")
    if several:
        warnings.append(f"a quoted text over several lines, read as one: from lines {number_list(several)}")
    return records, warnings


def _count_ends(lines: Sequence[str], separator: str) -> Counter:
    cells = (line.split(separator) for line in lines if '"' not in line and separator in line)
    return Counter(cell.strip() for row in cells for cell in (row[0], row[-1]))


def _swallows(part: Sequence[str], separator: str, ends: Counter) -> bool:
    inside = _count_ends(part, separator)
    rows = (line.split(separator) for line in part[:-1] if separator in line)
    return any(ends[cell.strip()] > inside[cell.strip()] for row in rows for cell in (row[0], row[-1]))


def _record(lines: Sequence[str], separator: str) -> tuple[list[str] | None, int]:
    """Return the record that begins on the first line and its number of lines; None where its quotes are wrong."""
    for span in range(1, len(lines) + 1):
        text = io.StringIO("\n".join(lines[:span]), newline="")
        try:
            spaced = f'{separator} "' in lines[0]  # a quote behind a space opens as well
            return next(csv.reader(text, delimiter=separator, strict=True, skipinitialspace=spaced)), span
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                break
    return None, 1
