"""Headlines with a label, from the formats people have: TSV, CSV, JSON lines, `text@label`, fastText."""

import html
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.reading import CorpusError, Reading, Rejected, number_list, read_lines
from helpers.corpora.tables import Row, read_rows
from helpers.text import tokenize

LONG = 100  # words; a longer headline is most likely no headline


class Headline(NamedTuple):
    """One example: the cleaned text, its label in lower case, and the line that it came from."""

    text: str
    label: str
    line: int

    @property
    def tokens(self) -> list[str]:
        """The words of the text, as `text.tokenize` finds them."""
        return tokenize(self.text)


_LABEL = re.compile(r"[\w+/-]+(?: [\w+/-]+){0,2}")
_MARKUP = re.compile(r"</?(?:a|b|br|div|em|font|i|p|span|strong|u)\b[^<>]*>", re.IGNORECASE)
_BARE_ENTITY = re.compile(r"(?<!&)#(\d{2,5});")  # AG News has lost the & of its entities
_ENTITY_SENTIMENT = re.compile(r""":\s*(['"])(positive|negative|neutral)\1\s*(?=[,}])""")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_headlines(path: Path | str) -> Reading[Headline]:
    """Read labelled headlines; every line is kept, or rejected with its number and a reason.

    The format is recognised: two columns by tab, comma, semicolon, bar or @ (the last separator counts; extra
    ones belong to the text), CSV with quotes and named columns, JSON lines, fastText. A `Decisions` column as
    SEntFiN has it (a sentiment per entity) gives a label where all entities agree on positive or negative.
    Raises CorpusError for a file that is missing, empty or no text.
    """
    path = Path(path)
    source = read_lines(path)
    table = read_rows(path, source.lines)
    examples, rejected, warnings = [], list(table.rejected), [*source.warnings, *table.warnings]
    broken = [row.line for row in table.rows if _SURROGATE.search(row.text + row.label)]
    if broken:
        warnings.append(f"halves of a character, replaced by \ufffd: lines {number_list(broken)}")
    for row in table.rows:
        example = _to_headline(row)
        (rejected if isinstance(example, Rejected) else examples).append(example)
    examples, header = _without_header(examples)
    rejected += header
    warnings += _label_warnings(table.rows, examples) + _text_warnings(examples)
    return Reading(path, tuple(examples), tuple(sorted(rejected)), source.encoding, tuple(warnings))


def refuse_untrainable(reading: Reading[Headline]) -> None:
    """Raise CorpusError where nothing can be trained on a file: no row, one class, or too few rows to split."""
    labels = Counter(example.label for example in reading.examples)
    if not labels:
        found = f" ({len(reading.rejected)} rejected, the first: {reading.rejected[0].reason})"
        raise CorpusError(f"{reading.path}: no row could be kept{found if reading.rejected else ''}")
    if len(labels) == 1:
        raise CorpusError(f"{reading.path}: all rows have one class, {next(iter(labels))!r}; give two or more")
    if len(reading.examples) <= len(labels):
        raise CorpusError(
            f"{reading.path}: too few rows to split, {len(reading.examples)} for {len(labels)} classes; "
            "give at least one to train on for each class, and one to test on"
        )


def _to_headline(row: Row) -> Headline | Rejected:
    """Clean a row; the order of the checks decides which reason is given."""
    text, label = _clean(row.text), _normalise(row.label)
    if not text:
        return Rejected(row.line, "no text")
    if not label:
        return Rejected(row.line, "no label")
    if label.startswith("{"):
        sentiments = {found for _, found in _ENTITY_SENTIMENT.findall(label)}
        if len(sentiments) != 1:
            return Rejected(row.line, "its entities have different sentiments" if sentiments else "no sentiment found")
        (label,) = sentiments
        if label == "neutral":
            return Rejected(row.line, "all its entities are neutral")
    if len(label) > 30 or not _LABEL.fullmatch(label):
        return Rejected(row.line, f"no label at its end: {label[:40]!r} is none")
    if not tokenize(text):
        return Rejected(row.line, "no words in it, only punctuation")
    return Headline(text, label, row.line)


def _clean(text: str) -> str:
    """Undo HTML entities and tags, drop stray backslashes, and fold white space."""
    text = _SURROGATE.sub("\ufffd", text)
    text = html.unescape(_BARE_ENTITY.sub(r"&#\1;", text))
    return " ".join(_MARKUP.sub(" ", text).replace("\\", " ").split())


def _normalise(label: str) -> str:
    """Fold case and white space; a whole number that went through a table of floats (1.0) is 1 again."""
    label = " ".join(label.strip().strip('"').casefold().split()).removeprefix("__label__")
    return re.sub(r"^(-?\d+)\.0+$", r"\1", label)


def _without_header(examples: list[Headline]) -> tuple[list[Headline], list[Rejected]]:
    """Take a first line for a header where its label stands nowhere else in ten lines or more of few labels."""
    others = Counter(example.label for example in examples[1:])
    if len(examples) > 10 and examples[0].line == 1 and examples[0].label not in others and min(others.values()) > 1:
        reason = f"taken for a header: its label {examples[0].label!r} stands nowhere else"
        return examples[1:], [Rejected(1, reason)]
    return examples, []


def _label_warnings(rows: list[Row], examples: list[Headline]) -> list[str]:
    """Warn of spellings read as one label, of a class with one example, and of classes that are missing."""
    warnings = []
    spellings = defaultdict(set)
    for row in rows:
        spellings[_normalise(row.label)].add(row.label.strip())
    labels = Counter(example.label for example in examples)
    for label in sorted(labels):
        if len(spellings[label]) > 1:
            warnings.append(f"read as one label: {', '.join(sorted(spellings[label]))}")
        if labels[label] == 1 and len(examples) > 2 * len(labels):
            line = next(example.line for example in examples if example.label == label)
            warnings.append(f"label {label!r} has a single example, on line {line}")
    opposite = {"positive": "negative", "negative": "positive"}
    warnings += [
        f"no example of class {opposite[label]!r}"
        for label in sorted(labels)
        if label in opposite and opposite[label] not in labels
    ]
    if labels and all(re.fullmatch(r"\d+", label) for label in labels):
        numbers = {int(label) for label in labels}
        gaps = sorted(set(range(min(numbers), max(numbers))) - numbers)
        if gaps:
            warnings.append(f"no example of class {number_list(gaps)}")
    return warnings


def _text_warnings(examples: list[Headline]) -> list[str]:
    """Warn of texts that stand more than once, with equal or with different labels, and of very long ones."""
    same = defaultdict(list)
    for example in examples:
        same[" ".join(example.tokens)].append(example)
    repeated = [group for group in same.values() if len(group) > 1]
    conflicts = [group for group in repeated if len({example.label for example in group}) > 1]
    warnings = []
    if repeated:
        lines = "; ".join(number_list(example.line for example in group) for group in repeated[:5])
        warnings.append(f"duplicates: texts that stand more than once: {len(repeated)} (lines {lines})")
    if conflicts:
        lines = "; ".join(number_list(example.line for example in group) for group in conflicts[:5])
        warnings.append(f"conflicting labels: texts with more than one: {len(conflicts)} (lines {lines})")
    long = [example.line for text, group in same.items() for example in group if text.count(" ") >= LONG]
    if long:
        warnings.append(f"longer than {LONG} words, cut in training: lines {number_list(sorted(long))}")
    return warnings
