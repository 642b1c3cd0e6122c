"""Headlines with a label, from the formats people have: TSV, CSV, JSON lines, `text@label`, fastText."""

import html
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.layout import LABEL, Row
from helpers.corpora.reading import Reading, Rejected, number_list, read_lines
from helpers.corpora.tables import read_rows
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


_MARKUP = re.compile(r"</?(?:a|b|br|div|em|font|i|p|span|strong|u)\b[^<>]*>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|\w{2,31});", re.IGNORECASE)
_BARE_ENTITY = re.compile(r"(?<!&)#(3[4689]|60|62|8\d{3});")  # AG News has lost the & of its quotes and dashes,
_BACKSLASH = re.compile(r"\\(?=[a-z$])")  # and has backslashes between words and before dollars
_ENTITY_SENTIMENT = re.compile(r""":\s*(['"])(positive|negative|neutral)\1\s*(?=[,}])""")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_headlines(path: Path | str) -> Reading[Headline]:
    """Read labelled headlines; every line is kept, rejected with its number and a reason, or named as the header.

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
    examples, doubtful = _without_doubtful(examples)
    rejected += doubtful
    warnings += _label_warnings(table.rows, examples) + _text_warnings(examples)
    return Reading(path, tuple(examples), tuple(sorted(rejected)), source.encoding, tuple(warnings))


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
    if not LABEL.fullmatch(label):
        return Rejected(row.line, f"no label at its end: {label[:40]!r} is none")
    if not tokenize(text):
        return Rejected(row.line, "no words in it, only punctuation")
    return Headline(text, label, row.line)


def _clean(text: str) -> str:
    """Undo HTML entities and tags and AG News' debris, and fold white space."""
    text = _SURROGATE.sub("\ufffd", text)
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), _BARE_ENTITY.sub(r"&#\1;", text))
    return " ".join(_BACKSLASH.sub(" ", _MARKUP.sub(" ", text)).split())


def _normalise(label: str) -> str:
    """Fold case and white space, drop quotes and invisible characters; a whole number that was a float (1.0) is 1."""
    label = "".join(character for character in label if unicodedata.category(character) != "Cf")
    label = " ".join(label.strip().strip("\"'").casefold().split())
    return re.sub(r"^(-?\d+)\.0+$", r"\1", label)


def _without_doubtful(examples: list[Headline]) -> tuple[list[Headline], list[Rejected]]:
    """Reject what only looks like a label, in files of more than ten rows: it stands nowhere else, and is the first
    line's (a header in another language) or of several words (the end of a text that has no label)."""
    labels = Counter(example.label for example in examples)
    kept, rejected = [], []
    for example in examples:
        words = re.search(r"[ .]", example.label) and not re.fullmatch(r"[\d.+-]+", example.label)
        heading = (
            example.line == 1
            and len(example.tokens) <= 3
            and not re.search(r"\d|positive|negative|neutral", example.label)
        )
        if len(examples) > 10 and labels[example.label] == 1 and (words or heading):
            kind = "taken for a header" if heading else "no label at its end"
            rejected.append(Rejected(example.line, f"{kind}: {example.label!r} stands nowhere else"))
        else:
            kept.append(example)
    return kept, rejected


def _label_warnings(rows: list[Row], examples: list[Headline]) -> list[str]:
    """Warn of spellings read as one label, of a class with one example, and of classes that are missing."""
    warnings = []
    spellings = defaultdict(set)
    for row in rows:
        spellings[_normalise(row.label)].add(row.label.strip())
    labels = Counter(example.label for example in examples)
    warnings += [
        f"read as one label: {', '.join(sorted(spellings[label]))}"
        for label in sorted(labels)
        if len(spellings[label]) > 1
    ]
    single = [example.line for example in examples if labels[example.label] == 1]
    if single and len(examples) > 2 * len(labels):
        warnings.append(f"labels with a single example: lines {number_list(single)}")
    opposite = {"positive": "negative", "negative": "positive"}
    warnings += [
        f"no example of class {opposite[label]!r}"
        for label in sorted(labels)
        if label in opposite and opposite[label] not in labels
    ]
    if labels and all(re.fullmatch(r"\d+", label) for label in labels):
        numbers = {int(label) for label in labels}
        if max(numbers) - min(numbers) <= 2 * len(numbers):  # else they are names and no count
            gaps = sorted(set(range(min(numbers), max(numbers))) - numbers)
            warnings += [f"no example of class {number_list(gaps)}"] if gaps else []
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
