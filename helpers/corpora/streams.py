"""Streams of words: WikiText's format, and the manual that every Python carries."""

import ast
import pydoc_data.topics
import re
import sysconfig
from pathlib import Path

from helpers.corpora.reading import Reading, read_lines
from helpers.text import UNKNOWN

END_OF_LINE = "<eos>"


def read_words(path: Path | str) -> Reading[str]:
    """Read text that is already split into words by spaces, as WikiText is.

    Every line ends in `<eos>`, blank ones too: a perplexity depends on that rule, and this is the one under
    which the published figures for WikiText-2 were counted. `<unk>` stays one word; other spellings of it are
    made the same. Raises CorpusError for a file that is missing, empty or no text.
    """
    path = Path(path)
    source = read_lines(path)
    words, respelled, written = [], 0, 0
    for line in source.lines:
        for word in line.split():
            if word != UNKNOWN and word.lower() == UNKNOWN:
                word, respelled = UNKNOWN, respelled + 1
            written += word == END_OF_LINE
            words.append(word)
        words.append(END_OF_LINE)
    warnings = list(source.warnings)
    if written:
        warnings.append(f"{END_OF_LINE} is written in the text, and read as the end of a line: {written}")
    if respelled:
        warnings.append(f"other spellings of {UNKNOWN}, read as it: {respelled}")
    return Reading(path, tuple(words), (), source.encoding, tuple(warnings))


def python_manual() -> Reading[str]:
    """Return the words of Python's reference manual and of its library's docstrings, in lower case.

    Every CPython carries both, so that this needs no download; how many words there are depends on its version.
    """
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [text for _, text in sorted(pydoc_data.topics.topics.items())]
    for path in sorted(library.glob("*.py")):
        tree = ast.parse(path.read_bytes())
        texts += [
            doc
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node))
        ]
    words = []
    for text in texts:
        for line in filter(str.strip, text.splitlines()):
            words += [*re.findall(r"\w+|[^\w\s]", line.lower()), END_OF_LINE]
    return Reading(library, tuple(words), (), "utf-8", ())
