"""Words to numbers."""

import pytest

from helpers.text import Vocabulary, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Village school SAVED: it won't close!", ["village", "school", "saved", "it", "won't", "close"]),
        ("Town’s choir", ["town's", "choir"]),  # a typographic apostrophe is the plain one
        ("Cafe\u0301", ["café"]),  # e and an accent of its own are é
        ("1,204.5 points, 3-2", ["1,204.5", "points", "3", "2"]),
        ("Fans cheer 🎉🏆 at dawn", ["fans", "cheer", "🎉", "🏆", "at", "dawn"]),
        ("👨‍👩‍👧 🇫🇮 👍🏽", ["👨‍👩‍👧", "🇫🇮", "👍🏽"]),  # joined, flags and skin tones stay whole
        ("called <unk> a wonder", ["called", "<unk>", "a", "wonder"]),
        ("!!! ... — ???", []),
        ("", []),
        ("天気 is good", ["天気", "is", "good"]),
    ],
)
def test_text_is_cut_into_words_numbers_and_emoji(text, tokens):
    assert tokenize(text) == tokens


def test_numbers_begin_with_the_most_frequent_token_after_the_two_special_ones():
    vocabulary = Vocabulary.build([["b", "a", "a"], ["c", "a", "b"]])
    assert vocabulary.tokens == ("<pad>", "<unk>", "a", "b", "c")
    assert vocabulary.encode(["a", "c", "x"]) == [2, 4, 1]
    assert vocabulary.decode([2, 4, 1]) == ["a", "c", "<unk>"]


def test_a_shrunken_vocabulary_has_a_row_for_every_number_it_gives():
    vocabulary = Vocabulary.build([["a", "a", "a"], ["b"]], min_count=2)
    assert max(vocabulary.encode(["a", "b", "c"])) < len(vocabulary) == 3


def test_special_tokens_in_a_text_do_not_become_padding_or_a_second_unknown():
    vocabulary = Vocabulary.build([["<pad>", "<unk>", "a"]])
    assert vocabulary.tokens == ("<pad>", "<unk>", "a")
    assert vocabulary.encode(["<pad>", "<unk>"]) == [1, 1]


def test_a_text_of_unknown_words_has_numbers_and_a_share_of_one():
    vocabulary = Vocabulary.build([["prices", "fall"], ["jobs", "grow"]])
    assert vocabulary.encode(["kraken", "swallows", "trawler"]) == [1, 1, 1]
    assert vocabulary.unknown_share([["kraken"], ["jobs", "fall", "kraken"]]) == 0.5
    assert vocabulary.unknown_share([]) == 0


def test_a_vocabulary_with_a_token_twice_is_refused():
    with pytest.raises(ValueError, match="no token twice"):
        Vocabulary(("<pad>", "<unk>", "a", "a"))
