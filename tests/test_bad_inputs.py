"""The faulty files of the public cases, where the reader has them: right counts, lines and reasons."""

import os
from pathlib import Path

import pytest

from helpers.corpora import read_dialogues, read_headlines, read_words

EXPECTED = {  # kept, labels, rejected lines, a piece of each warning
    "01_cp1252_bytes.tsv": (3, {"positive": 2, "negative": 1}, [], ["cp1252: lines 1, 2, 3"]),
    "02_utf8_bom.tsv": (2, {"positive": 1, "negative": 1}, [], []),
    "03_crlf_mixed_newlines.tsv": (3, {"positive": 1, "negative": 2}, [], []),
    "06_embedded_tab.tsv": (3, {"positive": 2, "negative": 1}, [], ["more than two columns"]),
    "07_stray_quote.tsv": (4, {"positive": 2, "negative": 2}, [], []),
    "09_no_tokens_left.tsv": (2, {"positive": 2}, [1, 3], ["no example of class 'negative'"]),
    "10_all_unknown.train.tsv": (4, {"positive": 2, "negative": 2}, [], []),
    "10_all_unknown.test.tsv": (3, {"positive": 1, "negative": 2}, [], []),
    "12_one_based_labels_html.csv": (4, {"1": 1, "2": 1, "3": 1, "4": 1}, [], ["more than two columns"]),
    "13_long_outlier.tsv": (4, {"positive": 2, "negative": 2}, [], ["longer than 100 words"]),
    "14_unsorted_lengths.tsv": (4, {"positive": 2, "negative": 2}, [], []),
    "15_na_like_headlines.csv": (8, {"positive": 5, "negative": 3}, [], ["line 1 is a header"]),
    "16_emoji_and_surrogates.jsonl": (3, {"positive": 2, "negative": 1}, [], ["halves of a character"]),
    "18_duplicates_and_conflicts.train.tsv": (
        5,
        {"positive": 3, "negative": 2},
        [],
        ["duplicates", "conflicting labels"],
    ),
    "18_duplicates_and_conflicts.test.tsv": (2, {"positive": 1, "negative": 1}, [], []),
    "21_at_separator.txt": (3, {"positive": 1, "negative": 1, "neutral": 1}, [3, 4], []),
    "28_single_class.tsv": (3, {"negative": 3}, [], ["no example of class 'positive'"]),
    "29_utf16le_bom.tsv": (2, {"positive": 1, "negative": 1}, [], []),
    "32_header_row.tsv": (2, {"positive": 1, "negative": 1}, [], ["line 1 is a header"]),
}


@pytest.fixture
def bad_inputs():
    folder = os.environ.get("COURSE_CASES")
    if not folder:
        pytest.skip("COURSE_CASES does not name a folder with faulty files; their kinds are in test_headlines.py")
    return Path(folder)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_faulty_file_is_read_as_it_should_be(bad_inputs, name):
    kept, labels, rejected, warnings = EXPECTED[name]
    reading = read_headlines(bad_inputs / name)
    assert len(reading.examples) == kept
    assert {
        label: [e.label for e in reading.examples].count(label) for label in {e.label for e in reading.examples}
    } == labels
    assert [line for line, _ in reading.rejected] == rejected
    assert len(reading.warnings) == len(warnings)
    assert all(piece in found for piece, found in zip(warnings, reading.warnings, strict=True))


def test_dialogues_and_streams_are_read_as_they_should_be(bad_inputs):
    assert len(read_dialogues(bad_inputs / "25_persona_control_good.txt").examples) == 2
    malformed = read_dialogues(bad_inputs / "26_persona_malformed.txt")
    assert [line for line, _ in malformed.rejected] == [4, 5, 6, 8]
    assert [len(dialogue.exchanges) for dialogue in malformed.examples] == [3, 2, 1]
    assert read_words(bad_inputs / "23_lm_with_bom.txt").examples[:2] == ("<eos>", "=")
    assert read_words(bad_inputs / "22_lm_wikitext_style.txt").examples.count("<unk>") == 4


def test_every_faulty_file_is_among_those_expected(bad_inputs):
    others = {
        "25_persona_control_good.txt",
        "26_persona_malformed.txt",
        "22_lm_wikitext_style.txt",
        "23_lm_with_bom.txt",
    }
    found = {path.name for path in bad_inputs.iterdir() if path.name[0].isdigit()}
    assert found == set(EXPECTED) | others | {"31_empty_file.tsv"}
