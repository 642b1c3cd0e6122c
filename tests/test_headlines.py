"""Reading labelled headlines: what people have is read, and what is not kept is said."""

import json
from collections import Counter

import pytest

from helpers.corpora import CorpusError, distinct, overlap, read_headlines, refuse_untrainable, split

GOOD = [f"Good thing number {word}" for word in ("one", "two", "three", "four", "five", "six")]
BAD = [f"Bad thing number {word}" for word in ("one", "two", "three", "four", "five", "six")]


def read(tmp_path, content, name="file.tsv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return read_headlines(path)


def texts(reading):
    return [example.text for example in reading.examples]


def labels(reading):
    return [example.label for example in reading.examples]


def lines_of(reading):
    return [rejected.line for rejected in reading.rejected]


def warned(reading, word):
    return any(word in warning for warning in reading.warnings)


# encodings


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16", b""),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-32", b""),
    ],
)
def test_unicode_is_read_in_each_of_its_encodings(tmp_path, encoding, mark):
    reading = read(tmp_path, mark + "Café “Rose” reopens\tpositive\nCafé closes\tnegative\n".encode(encoding))
    assert texts(reading) == ["Café “Rose” reopens", "Café closes"]
    assert labels(reading) == ["positive", "negative"]
    assert not reading.warnings


def test_what_is_not_utf8_is_read_as_cp1252_and_named(tmp_path):
    reading = read(tmp_path, b"Caf\xe9 reopens\tpositive\nTown\x92s choir \x85 wins\tpositive\nPlain\tnegative\n")
    assert texts(reading) == ["Café reopens", "Town’s choir … wins", "Plain"]
    assert reading.encoding == "cp1252"
    assert reading.warnings[0] == "not UTF-8, read as cp1252: lines 1, 2"


def test_one_bad_line_does_not_spoil_the_good_ones(tmp_path):
    reading = read(tmp_path, "Café reopens\tpositive\n".encode() + b"Caf\xe9 closes\tnegative\n")
    assert texts(reading) == ["Café reopens", "Café closes"]
    assert reading.encoding == "utf-8 and cp1252"
    assert warned(reading, "lines 2")


def test_bytes_that_no_encoding_has_are_shown_and_named(tmp_path):
    reading = read(tmp_path, b"Odd \x81 byte\tpositive\nPlain\tnegative\n")
    assert texts(reading)[0] == "Odd \ufffd byte"
    assert warned(reading, "bytes that cp1252 does not have")


def test_mojibake_is_named_and_left_as_it_is(tmp_path):
    reading = read(tmp_path, "CafÃ© reopens\tpositive\nCafé closes\tnegative\nItâ€™s on\tpositive\n")
    assert texts(reading)[0] == "CafÃ© reopens"
    assert reading.warnings == ("mojibake (UTF-8 that was read as cp1252 once): lines 1, 3",)


# lines and separators


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_kind_of_line_end_ends_a_line(tmp_path, end, last):
    reading = read(tmp_path, end.join(["Rain saves crop\tpositive", "Flood ruins crop\tnegative"]) + end * last)
    assert labels(reading) == ["positive", "negative"]


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\x0b", "\x0c", "\x1c"])
def test_characters_at_which_python_would_split_do_not_end_a_line(tmp_path, character):
    reading = read(tmp_path, f"Rain{character}saves crop\tpositive\nFlood ruins crop\tnegative\n")
    assert labels(reading) == ["positive", "negative"]


def test_blank_lines_are_passed_over_and_counted_in_line_numbers(tmp_path):
    reading = read(tmp_path, "\nRain saves crop\tpositive\n  \n\nno label here\nFlood ruins crop\tnegative\n")
    assert [example.line for example in reading.examples] == [2, 6]
    assert lines_of(reading) == [5]


@pytest.mark.parametrize("separator", ["\t", "@", ";", "|", ","])
def test_the_last_separator_is_the_one_before_the_label(tmp_path, separator):
    text = f"Post{separator} ferry sinks"
    reading = read(tmp_path, f"{text}{separator}negative\nCrew praised for rescue{separator}positive\n", "file.txt")
    assert [" ".join(t.split()) for t in texts(reading)] == [" ".join(text.split()), "Crew praised for rescue"]
    assert labels(reading) == ["negative", "positive"]


@pytest.mark.parametrize("line", ["no separator at all", "empty label\t", "\tpositive", "  \t  ", "1"])
def test_a_line_without_text_or_label_is_rejected_with_its_number(tmp_path, line):
    reading = read(tmp_path, f"Rain saves crop\tpositive\n{line}\nFlood ruins crop\tnegative\n")
    assert labels(reading) == ["positive", "negative"]
    if line.strip():
        assert lines_of(reading) == [2]


def test_an_at_sign_in_a_text_without_label_does_not_make_one(tmp_path):
    lines = [f"{text}@positive" for text in GOOD] + [f"{text}@negative" for text in BAD]
    reading = read(
        tmp_path, "\n".join([*lines, "Write to news@example.org for refunds today and tomorrow"]), "file.txt"
    )
    assert Counter(labels(reading)) == {"positive": 6, "negative": 6}
    assert lines_of(reading) == [13]


def test_a_label_may_stand_first(tmp_path):
    content = "".join(f"positive\t{t}\n" for t in GOOD) + "".join(f"negative\t{t}\n" for t in BAD)
    reading = read(tmp_path, content)
    assert texts(reading) == GOOD + BAD


def test_fasttext_lines_are_read(tmp_path):
    reading = read(tmp_path, "__label__positive Rain saves crop\n__label__negative Flood ruins crop\n", "train.txt")
    assert list(zip(texts(reading), labels(reading), strict=True)) == [
        ("Rain saves crop", "positive"),
        ("Flood ruins crop", "negative"),
    ]


# quotes and tables


def test_a_stray_quote_in_a_tsv_is_a_character(tmp_path):
    reading = read(tmp_path, '"Worst winter ever\tnegative\nSkaters enjoy ice\tpositive\nA "triumph"\tpositive\n')
    assert texts(reading) == ['"Worst winter ever', "Skaters enjoy ice", 'A "triumph"']


def test_a_stray_quote_in_a_csv_spoils_its_own_line_and_no_other(tmp_path):
    content = (
        'text,label\n"Worst winter, say farmers,negative\nSkaters enjoy ice,positive\n'
        '"Quiet, at last",positive\n"Odd" day,negative\n'
    )
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading) == ['"Worst winter, say farmers', "Skaters enjoy ice", "Quiet, at last", '"Odd" day']
    assert labels(reading) == ["negative", "positive", "positive", "negative"]
    assert warned(reading, "a stray quote, read as a plain character: lines 2, 5")


def test_a_quoted_text_may_go_over_several_lines(tmp_path):
    content = 'text,label\n"First line\nand ""second"", too",positive\nPlain,negative\n'
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading) == ['First line and "second", too', "Plain"]
    assert [example.line for example in reading.examples] == [2, 4]


def test_commas_without_quotes_belong_to_the_text(tmp_path):
    reading = read(tmp_path, "text,label\nRain, wind, snow,negative\nSun,positive\n", "file.csv")
    assert texts(reading) == ["Rain, wind, snow", "Sun"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            "id,headline,label,year\n7,Rain saves crop,positive,2020\n8,Flood ruins crop,negative,2021\n",
            "Rain saves crop",
        ),
        ("label,headline\npositive,Rain saves crop\nnegative,Flood ruins crop\n", "Rain saves crop"),
        ("Sentiment;Title\npositive;Rain saves crop\nnegative;Flood ruins crop\n", "Rain saves crop"),
    ],
)
def test_named_columns_are_found_wherever_they_stand(tmp_path, content, text):
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading)[0] == text
    assert labels(reading) == ["positive", "negative"]
    assert warned(reading, "line 1 is a header")


def test_a_row_with_columns_missing_is_rejected(tmp_path):
    reading = read(tmp_path, "id,text,label\n1,Rain saves crop,positive\n2,short\n3,Flood,negative\n", "file.csv")
    assert lines_of(reading) == [3]


def test_a_header_with_unknown_names_is_taken_for_one_and_said(tmp_path):
    content = "titel\tstimmung\n" + "".join(f"{g}\tpositive\n{b}\tnegative\n" for g, b in zip(GOOD, BAD, strict=True))
    reading = read(tmp_path, content)
    assert len(reading.examples) == 12
    assert "header" in reading.rejected[0].reason


def test_words_that_look_like_missing_values_are_texts(tmp_path):
    words = ["NA", "null", "None", "nan", "N/A", "Inf", "007", "True"]
    reading = read(tmp_path, "headline,label\n" + "".join(f"{word},positive\n" for word in words), "file.csv")
    assert texts(reading) == words


def test_html_and_its_debris_are_undone(tmp_path):
    content = (
        '"3","Shop chain\'s profit slips","It isn#39;t hiring\\this year &lt;b&gt;says&lt;/b&gt; AT&amp;T"\n'
        '"1","Talks","A"\n'
    )
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading)[0] == "Shop chain's profit slips,It isn't hiring this year says AT&T"
    assert labels(reading) == ["3", "1"]


def test_json_lines_are_read_and_broken_ones_rejected(tmp_path):
    rows = [
        {"headline": "Rain", "label": "positive"},
        {"text": "Flood", "sentiment": 0},
        {"headline": None, "label": "x"},
        {"label": "x"},
        [1],
    ]
    reading = read(tmp_path, "\n".join(map(json.dumps, rows)) + '\n{"headline": "cut\n', "file.jsonl")
    assert list(zip(texts(reading), labels(reading), strict=True)) == [("Rain", "positive"), ("Flood", "0")]
    assert lines_of(reading) == [3, 4, 5, 6]


def test_half_a_character_is_replaced_and_named(tmp_path):
    reading = read(tmp_path, '{"headline": "Broken \\ud83d emoji", "label": "a"}\n', "file.jsonl")
    assert texts(reading) == ["Broken \ufffd emoji"]
    assert warned(reading, "halves of a character")
    texts(reading)[0].encode("utf-8")


# what a tester's four hundred files found


PLAIN = "A plain one,positive\nAnother one,negative\nA third,positive\n"


@pytest.mark.parametrize(
    "content",
    [
        'text,label\n"Worst winter,negative\nBus late",positive\n',  # a stray quote on two lines, one after the other
        '\ntext,label\n"Worst winter,negative\nShips sink,negative\nBus late,positive\n"\n',
        '"Worst winter,negative\nShips sink,negative\nBus late",positive\n',
    ],
)
def test_stray_quotes_do_not_merge_rows(tmp_path, content):
    rows = sum(line.endswith(("positive", "negative")) for line in (content + PLAIN).splitlines())
    reading = read(tmp_path, content + PLAIN, "file.csv")
    assert len(reading.examples) == rows
    assert warned(reading, "stray quote")


def test_a_text_over_three_lines_with_commas_is_one_row_and_said(tmp_path):
    reading = read(tmp_path, 'text,label\n"First, line\nsecond, line\nthird",positive\n' + PLAIN, "file.csv")
    assert texts(reading)[0] == "First, line second, line third"
    assert warned(reading, "over several lines, read as one: from lines 2")


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", "\n".encode("utf-16"), b"\xc2\xa0\n", b"\x0c", b"\xff\xfe\x00\x00", b"\xc2\x85"]
)
def test_a_file_that_is_blank_in_any_encoding_is_empty(tmp_path, content):
    with pytest.raises(CorpusError, match="empty"):
        read(tmp_path, content)


def test_a_file_of_a_header_only_is_refused_by_its_name(tmp_path):
    with pytest.raises(CorpusError, match=r"file\.tsv: no row can be used; give a headline"):
        refuse_untrainable(read(tmp_path, "text\tlabel\n"))


def test_numbers_that_are_names_are_not_counted_through(tmp_path):
    reading = read(tmp_path, "Ships sink\t1\nTrains run\t1000000000000\nBuses go\t1\n")
    assert labels(reading) == ["1", "1000000000000", "1"]


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_commas_in_the_first_line_do_not_make_a_csv_of_commas(tmp_path, separator):
    content = f"Ships, sink, and, burn{separator}negative\nLast, one{separator}positive\nok a, b{separator}positive\n"
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading) == ["Ships, sink, and, burn", "Last, one", "ok a, b"]


@pytest.mark.parametrize("tail", [",", ",,"])
@pytest.mark.parametrize("header", ["", "text,label\n"])
def test_empty_columns_at_the_end_are_cut(tmp_path, tail, header):
    content = f"Trains run on time,positive{tail}\nShips sink,negative{tail}\nBuses arrive,positive{tail}\n"
    reading = read(tmp_path, header + content, "file.csv")
    assert texts(reading) == ["Trains run on time", "Ships sink", "Buses arrive"]
    assert labels(reading) == ["positive", "negative", "positive"]


@pytest.mark.parametrize(
    "rows",
    [
        [("prices fall", "positive"), ("prices fall", "negative"), ("prices fall", "positive")],
        [
            ("Rain falls", "sci.space"),
            ("A longer one about cars", "rec.autos"),
            ("Sun shines", "sci.space"),
            ("Cars", "rec.autos"),
        ],
        [("A x", "👍"), ("B x", "👎"), ("C x", "👍"), ("D x", "👎")],
    ],
)
def test_text_and_label_are_not_exchanged(tmp_path, rows):
    reading = read(tmp_path, "".join(f"{text}\t{label}\n" for text, label in rows))
    assert list(zip(texts(reading), labels(reading), strict=True)) == rows


def test_only_what_a_split_would_use_counts_as_trainable(tmp_path):
    for content in (
        "Same\tpositive\nSame\tnegative\nOther\tpositive\nOther\tnegative\n",
        "A a\tpositive\n" * 3 + "B b\tnegative\n",
    ):
        with pytest.raises(CorpusError):
            refuse_untrainable(read(tmp_path, content))


@pytest.mark.parametrize(
    "text", ["We are #10; they lead", "Law&regulation", "a=1&copy=2", r"AC\DC plays", "R&D at AT&T"]
)
def test_a_text_that_only_looks_like_html_stays_as_it_is(tmp_path, text):
    assert texts(read(tmp_path, f"{text}\tpositive\nPlain\tnegative\n"))[0] == text


@pytest.mark.parametrize(
    "line",
    ['{"text":"A x","label":' + "1" * 5000 + "}", "[" * 3000, '{"text":["a"],"label":"p"}', '{"text":NaN,"label":"p"}'],
)
def test_odd_json_is_rejected_and_never_a_traceback(tmp_path, line):
    reading = read(tmp_path, f'{{"text":"B y","label":"p"}}\n{line}\n', "file.JSONL")
    assert texts(reading) == ["B y"]
    assert lines_of(reading) == [2]


def test_a_list_of_json_objects_is_read(tmp_path):
    content = '[\n {"text":"A x","label":"p"},\n {"text":"B x","label":"n"}\n]\n'
    assert texts(read(tmp_path, content, "file.json")) == ["A x", "B x"]


def test_a_table_of_three_columns_rejects_what_it_cannot_place(tmp_path):
    content = "text,label,source\nA story, positive, BBC, London\nC story,positive,AP\nD story,negative,\n"
    reading = read(tmp_path, content, "file.csv")
    assert texts(reading) == ["C story", "D story"]
    assert reading.rejected == ((2, "4 columns where 3 are expected"),)


def test_an_empty_last_column_is_no_missing_one(tmp_path):
    reading = read(tmp_path, "text\tlabel\tsource\nA story\tpositive\tBBC\nB story\tnegative\t\n")
    assert labels(reading) == ["positive", "negative"]
    assert read(tmp_path, "A x\tpositive\nEmpty label\t\nB x\tnegative\n").rejected == ((2, "no label"),)


def test_quoted_speech_does_not_make_a_csv_of_a_tsv(tmp_path):
    reading = read(tmp_path, '"We lost", says boss\tnegative\n"We won", says boss\tpositive\n')
    assert texts(reading) == ['"We lost", says boss', '"We won", says boss']


def test_the_case_of_a_suffix_does_not_matter(tmp_path):
    assert texts(read(tmp_path, 'text,label\n"Ships, sink",negative\nLast,positive\n', "file.CSV"))[0] == "Ships, sink"


def test_a_header_may_stand_below_a_remark_and_again_in_the_middle(tmp_path):
    reading = read(tmp_path, "# my data\ntext\tlabel\nA a\tpositive\nB b\tnegative\ntext\tlabel\nC c\tpositive\n")
    assert texts(reading) == ["A a", "B b", "C c"]
    assert reading.rejected == ((1, "stands before the header"), (5, "the header again"))


def test_the_longest_column_is_the_text_where_its_name_is_unknown(tmp_path):
    reading = read(tmp_path, "nr,Satz,label\n0,Trains run on,pos\n1,Ships sink,neg\n", "file.csv")
    assert texts(reading) == ["Trains run on", "Ships sink"]
    assert warned(reading, "column 'satz' is taken for the text")


@pytest.mark.parametrize("first", ["5,Great phone", "3,A neutral story about rain"])
def test_a_first_row_with_a_rare_label_is_no_header(tmp_path, first):
    content = first + "\n" + "".join(f"{1 + n % 2},Phone number {n} is here\n" for n in range(16))
    assert len(read(tmp_path, content, "file.csv").examples) == 17


def test_a_row_that_begins_with_target_is_no_header(tmp_path):
    assert len(read(tmp_path, "Target\tpositive\nShips sink\tnegative\nBuses arrive\tpositive\n").examples) == 3


def test_fasttext_with_other_lines_and_several_labels(tmp_path):
    lines = ["# remark", "__label__a Trains run", " __label__b Ships sink", "__label__a __label__b Both"]
    content = "\n".join([*lines, "__label__a Buses, arrive"])
    reading = read(tmp_path, content, "train.txt")
    assert texts(reading) == ["Trains run", "Ships sink", "Buses, arrive"]
    assert reading.rejected == ((1, "no __label__ at its start"), (4, "more than one label"))


def test_reading_is_not_quadratic(tmp_path):
    import time

    content = "".join(
        f"Headline number {n} of many\t{'rare' + str(n) if n % 3 == 0 else n % 2}\n" for n in range(30_000)
    )
    start = time.perf_counter()
    read(tmp_path, content)
    assert time.perf_counter() - start < 8


def test_one_control_character_does_not_make_a_binary_file(tmp_path):
    assert len(read(tmp_path, "A x\t1\n\x07B y\t2\nC z\t1\n").examples) == 3


def test_one_line_may_hold_both_encodings_and_mojibake_beside_emoji(tmp_path):
    reading = read(tmp_path, "Café ".encode() + b"Caf\xe9\tx\n" + "CafÃ© 🎉\ty\n".encode())
    assert texts(reading)[0] == "Café Café"
    assert warned(reading, "mojibake (UTF-8 that was read as cp1252 once): lines 2")


# labels, words and repeats


def test_spellings_of_a_label_are_one_and_said(tmp_path):
    reading = read(tmp_path, "Rain\tPositive\nSun\tpositive \nFlood\tNEGATIVE\nFrost\t1.0\nSnow\t1\n")
    assert labels(reading) == ["positive", "positive", "negative", "1", "1"]
    assert warned(reading, "read as one label: Positive, positive")


def test_a_text_without_words_is_rejected_and_one_of_emoji_is_not(tmp_path):
    reading = read(tmp_path, "!!! ... ???\tnegative\n😀😀\tpositive\n-- — --\tnegative\nA real one\tpositive\n")
    assert texts(reading) == ["😀😀", "A real one"]
    assert reading.rejected == ((1, "no words in it, only punctuation"), (3, "no words in it, only punctuation"))


def test_repeats_and_conflicts_are_named_by_line_and_all_kept(tmp_path):
    lines = ["Shares close flat\tpositive", "Shares close flat\tnegative", "shares close  flat!\tnegative"]
    content = "\n".join([*lines, "Pool\tpositive", "Pool\tpositive"])
    reading = read(tmp_path, content)
    assert len(reading.examples) == 5
    assert warned(reading, "stand more than once: 2 (lines 1, 2, 3; 4, 5)")
    assert warned(reading, "more than one: 1 (lines 1, 2, 3)")


def test_a_missing_class_is_named(tmp_path):
    assert warned(read(tmp_path, "Rain\tpositive\nSun\tpositive\n"), "no example of class 'negative'")
    assert warned(read(tmp_path, "Rain\t1\nSun\t2\nFrost\t4\n"), "no example of class 3")


def test_a_label_with_one_example_is_named(tmp_path):
    content = "".join(f"{text}\tpositive\n" for text in GOOD) + "Odd one\tneutrall\nBad\tnegative\nWorse\tnegative\n"
    assert warned(read(tmp_path, content), "labels with a single example: lines 7")


def test_a_very_long_line_is_named(tmp_path):
    reading = read(tmp_path, "Short\tpositive\n" + "word " * 2000 + "\tnegative\n")
    assert warned(reading, "longer than 100 words, cut in training: lines 2")


# files that nothing can be learned from


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\n  \n\t\n", "empty"),
        (b"\xef\xbb\xbf\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        (b"PK\x03\x04\x14\x00\x06\x00", "binary"),
        (bytes(range(1, 32)) * 9, "binary"),
        (b"\xff\xfeR\x00a\x00i", "damaged utf-16"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_name(tmp_path, content, reason):
    with pytest.raises(CorpusError, match=f"file.tsv: .*{reason}"):
        read(tmp_path, content)


def test_a_missing_file_and_a_folder_are_refused_by_their_names(tmp_path):
    with pytest.raises(CorpusError, match=r"nowhere.tsv: no such file"):
        read_headlines(tmp_path / "nowhere.tsv")
    with pytest.raises(CorpusError, match=f"{tmp_path}: cannot be read"):
        read_headlines(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a\tpositive\nb\tpositive\n", "one class, 'positive'"),
        ("a\tpositive\nb\tnegative\n", "too few rows to split"),
        ("a\tx\nb\ty\nc\tz\n", "too few rows to split, 3 for 3 classes"),
        ("no label\nnone either\n", "no row can be used; 2 rejected, the first: 1 column"),
    ],
)
def test_a_file_that_cannot_be_split_is_refused(tmp_path, content, reason):
    with pytest.raises(CorpusError, match=reason):
        refuse_untrainable(read(tmp_path, content))


# splitting


def test_a_split_shares_no_text_and_keeps_the_proportion_of_classes(tmp_path):
    content = "".join(f"Good {n}\tpositive\nBad {n}\tnegative\nWorse {n}\tnegative\n" for n in range(100))
    parts = split(read(tmp_path, content).examples)
    assert (len(parts.train), len(parts.test)) == (240, 60)
    assert Counter(example.label for example in parts.test) == {"positive": 20, "negative": 40}
    assert not overlap(parts.train, parts.test)


def test_a_split_does_not_depend_on_the_order_of_the_file(tmp_path):
    lines = [f"Text {n}\t{'positive' if n % 2 else 'negative'}\n" for n in range(60)]
    first, second = (split(read(tmp_path, "".join(order)).examples) for order in (lines, lines[::-1]))
    assert {e.text for e in first.test} == {e.text for e in second.test}


def test_repeats_are_split_once_and_conflicting_texts_not_at_all(tmp_path):
    content = "Same\tpositive\nsame!\tpositive\nBoth\tpositive\nboth\tnegative\nOther\tnegative\nMore\tnegative\n"
    examples = read(tmp_path, content).examples
    assert [example.text for example in distinct(examples)] == ["Same", "Other", "More"]
    parts = split(examples)
    assert len(parts.train) + len(parts.test) == 3


def test_an_overlap_is_found_whatever_the_case(tmp_path):
    train = read(tmp_path, "Pool reopens\tpositive\n").examples
    test = read(tmp_path, "POOL reopens!\tpositive\nPool stays shut\tnegative\n").examples
    assert [example.line for example in overlap(train, test)] == [1]


@pytest.mark.parametrize("share", [0, 1, -0.5, 20])
def test_a_share_that_leaves_one_side_empty_is_refused(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        split([], share)


# real data


def test_sentfin_is_read_whole(public_data):
    """10,753 rows; the 13 whose dictionaries Python cannot parse are judged by their sentiments like all others."""
    reading = read_headlines(public_data("SEntFiN.csv"))
    assert Counter(labels(reading)) == {"positive": 3363, "negative": 2711}
    assert Counter(rejected.reason for rejected in reading.rejected) == {
        "all its entities are neutral": 3446,
        "its entities have different sentiments": 1233,
    }
    assert len(reading.examples) + len(reading.rejected) == 10_753
    awkward = {3616, 3784, 4910, 5015, 5322, 7227, 8168, 8203, 9625, 9825, 10270, 10356, 10622}
    kept = {example.line: example.label for example in reading.examples if example.line in awkward}
    assert kept == {4910: "positive", 5015: "positive", 7227: "positive", 9825: "negative", 10270: "negative"}
    assert awkward - set(kept) <= set(lines_of(reading))
