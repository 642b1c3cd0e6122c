"""The texts written for the course are what their datasheet says."""

import hashlib
import re
from collections import Counter

import pytest

from helpers.claims import all_claims
from helpers.corpora import DATA, overlap, read_dialogues, read_headlines, split

HANDFUL = 5


@pytest.fixture(scope="module")
def headlines():
    return read_headlines(DATA / "headlines.tsv")


@pytest.fixture(scope="module")
def dialogues():
    return read_dialogues(DATA / "dialogues.txt")


def test_headlines_are_read_without_a_remark(headlines):
    """No two are alike as tokens, and none has two labels: the reader would warn."""
    assert len(headlines.examples) >= 1500
    assert (headlines.rejected, headlines.warnings, headlines.encoding) == ((), (), "utf-8")


def test_both_labels_are_as_frequent(headlines):
    counts = Counter(example.label for example in headlines.examples)
    assert set(counts) == {"positive", "negative"}
    assert abs(counts["positive"] - counts["negative"]) < 0.01 * counts.total()


def test_every_length_from_3_to_25_words_occurs(headlines):
    lengths = Counter(len(example.text.split()) for example in headlines.examples)
    assert sorted(lengths) == list(range(3, 26))


def patterns(headlines, of):
    return Counter(pattern for example in headlines.examples for pattern in of(example.tokens))


def one_word_left_out(tokens):
    return {(*tokens[:place], "…", *tokens[place + 1 :]) for place in range(len(tokens))}


def runs_of_five(tokens):
    return {tuple(tokens[place : place + 5]) for place in range(len(tokens) - 4)}


@pytest.mark.parametrize("of", [one_word_left_out, runs_of_five])
def test_no_more_than_a_handful_share_a_pattern(headlines, of):
    """A template with a slot would give many headlines that differ in one word, or share a long run of words."""
    ((pattern, count),) = patterns(headlines, of).most_common(1)
    assert count <= HANDFUL, f"{count} headlines share {' '.join(pattern)}"


def test_no_frame_of_small_words_is_filled_again_and_again(headlines):
    """The frame of a headline: its small words in place, all others as blanks; frames of three small words or more."""
    words = Counter(token for example in headlines.examples for token in example.tokens)
    small = {word for word, _ in words.most_common(60)}
    frames = Counter(tuple(t if t in small else "_" for t in example.tokens) for example in headlines.examples)
    telling = {frame: count for frame, count in frames.items() if sum(word != "_" for word in frame) >= 3}
    assert max(telling.values()) <= HANDFUL


def test_negation_and_contrast_occur_under_both_labels(headlines):
    for word in ("not", "no", "never", "without", "despite", "but", "after", "too", "only", "nobody", "fails"):
        labels = Counter(example.label for example in headlines.examples if word in example.tokens)
        assert min(labels["positive"], labels["negative"]) >= 3, (word, labels)


def test_the_split_is_fixed(headlines):
    parts = split(headlines.examples)
    assert (len(parts.train), len(parts.test)) == (7056, 1764)
    assert not overlap(parts.train, parts.test)
    digest = hashlib.sha256("\n".join(example.text for example in parts.test).encode()).hexdigest()
    assert digest.startswith("a44e7edaabca7621")


def test_dialogues_are_read_without_a_remark(dialogues):
    assert len(dialogues.examples) >= 150
    assert (dialogues.rejected, dialogues.warnings, dialogues.encoding) == ((), (), "utf-8")


def test_every_dialogue_has_a_persona_and_a_talk(dialogues):
    for dialogue in dialogues.examples:
        assert 3 <= len(dialogue.persona) <= 5, dialogue.line
        assert 5 <= len(dialogue.exchanges) <= 8, dialogue.line


def test_no_line_of_a_dialogue_stands_twice(dialogues):
    lines = [line for dialogue in dialogues.examples for pair in dialogue.exchanges for line in pair]
    (line, count), *_ = Counter(lines).most_common(1)
    assert count == 1, line


def test_dialogues_are_lower_case_words_with_spaces_around_punctuation(dialogues):
    for dialogue in dialogues.examples:
        for line in [*dialogue.persona, *(text for pair in dialogue.exchanges for text in pair)]:
            assert line == line.lower(), line
            assert not re.search(r"\w[,.?!]", line), line


def test_the_datasheet_gives_the_counts_of_the_files(headlines, dialogues):
    sheet = (DATA / "README.md").read_text(encoding="utf-8")
    exchanges = sum(len(dialogue.exchanges) for dialogue in dialogues.examples)
    for number in (len(headlines.examples), len(dialogues.examples), exchanges):
        assert f"{number:,}" in sheet, number


def test_claims_are_complete_and_name_their_notebooks():
    claims = all_claims()
    assert len(claims) == 34
    for claim in claims.values():
        assert claim.article in ("speed", "practice")
        assert claim.claim
        assert claim.measured_by
        assert all(re.fullmatch(r"0\d", notebook) for notebook in claim.notebooks)
