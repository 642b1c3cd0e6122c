"""Reading dialogues and streams of words."""

import functools
import hashlib
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler

import pytest

from helpers.corpora import (
    END_OF_LINE,
    CorpusError,
    locate,
    python_manual,
    read_dialogues,
    read_words,
    sources,
)


def read(tmp_path, content, reader):
    path = tmp_path / "file.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return reader(path)


GOOD = """1 your persona: i keep bees.
2 your persona: i paint boats.
3 hello , what do you do ?\ti look after my bees , you ?
4 i drive a tram .\tthat sounds fun .
1 your persona: i cannot swim.
2 hi there\thello ! do you swim ?
"""


def test_a_number_that_does_not_rise_begins_a_dialogue(tmp_path):
    first, second = read(tmp_path, GOOD, read_dialogues).examples
    assert first.persona == ("i keep bees.", "i paint boats.")
    assert first.exchanges[1] == ("i drive a tram .", "that sounds fun .")
    assert (second.line, second.persona, len(second.exchanges)) == (5, ("i cannot swim.",), 1)


MALFORMED = """2 your persona: i start at two.
3 hi\thello
5 numbers skip here\tyes they do
6 this line has no reply
7 reply is empty\t
no number on this line\tstill a pair
8 your persona: persona after the talk began.
9\tmissing space after the number
10 __SILENCE__\ti talk first
1 partner's persona: i sell maps.
2 your persona: i fix clocks.
3 any tabs ?\tone here\t\tcand a|cand | with bar|one here
4 trailing reward\tok then\t1.0

1 your persona: blank line above should not end the file.\r
2 crlf line\twith a carriage return\r
"""


def test_malformed_lines_are_rejected_by_number_and_reading_goes_on(tmp_path):
    reading = read(tmp_path, MALFORMED, read_dialogues)
    assert [(r.line, r.reason) for r in reading.rejected] == [
        (4, "no reply"),
        (5, "no reply"),
        (6, "no number at its start"),
        (8, "no utterance"),
    ]
    first, second, third = reading.examples
    assert first.exchanges == (("hi", "hello"), ("numbers skip here", "yes they do"), ("__SILENCE__", "i talk first"))
    assert first.persona == ("i start at two.", "persona after the talk began.")
    assert second.partner_persona == ("i sell maps.",)
    assert second.exchanges == (("any tabs ?", "one here"), ("trailing reward", "ok then"))
    assert third.exchanges == (("crlf line", "with a carriage return"),)
    assert reading.warnings == ("numbers skipped before lines 1, 3", "persona after the talk began: lines 7")


def test_a_dialogue_without_an_exchange_is_rejected(tmp_path):
    reading = read(tmp_path, "1 your persona: i wait.\n1 hi\thello\n", read_dialogues)
    assert [tuple(rejected) for rejected in reading.rejected] == [(1, "a dialogue without an exchange")]
    assert len(reading.examples) == 1


def test_a_bare_number_begins_a_dialogue_and_a_fact_has_no_tab(tmp_path):
    reading = read(
        tmp_path, "1 hi\thello\n1\n2 who\tme\n1 your persona: is nice i said\tthanks\n2 a\tb\n", read_dialogues
    )
    assert [len(dialogue.exchanges) for dialogue in reading.examples] == [1, 1, 2]
    assert [tuple(rejected) for rejected in reading.rejected] == [(2, "no utterance")]
    assert not reading.examples[2].persona


def test_a_number_of_five_thousand_digits_is_no_number(tmp_path):
    assert len(read(tmp_path, "1 a\tb\n" + "1" * 5000 + " a\tb\n", read_dialogues).rejected) == 1


def test_persona_chat_is_read_whole(public_data):
    reading = read_dialogues(public_data("valid_self_original_no_cands.txt"))
    assert len(reading.examples) == 1000
    assert sum(len(dialogue.exchanges) for dialogue in reading.examples) == 7801
    assert not reading.rejected
    assert not reading.warnings


def test_every_line_of_a_stream_ends_in_its_own_token_and_unknown_words_stay_whole(tmp_path):
    reading = read(
        tmp_path, " \n = A Title = \n \nmade in 1 @,@ 204 parts by <unk> , a well @-@ known <UNK>\n", read_words
    )
    assert reading.examples[:7] == (END_OF_LINE, "=", "A", "Title", "=", END_OF_LINE, END_OF_LINE)
    assert reading.examples.count("<unk>") == 2
    assert {"@,@", "@-@"} <= set(reading.examples)
    assert reading.warnings == ("other spellings of <unk>, read as it: 1",)


def test_an_end_of_line_that_is_written_in_a_text_is_said(tmp_path):
    assert "written in the text" in read(tmp_path, "a <eos> b\n", read_words).warnings[0]


def test_a_mark_at_the_start_of_a_stream_is_no_word(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbf \n = Second = \n", read_words).examples == (
        END_OF_LINE,
        "=",
        "Second",
        "=",
        END_OF_LINE,
    )


@pytest.mark.parametrize(("part", "words"), [("valid", 217_646), ("test", 245_569)])
def test_wikitext_has_the_published_number_of_words(public_data, part, words):
    assert len(read_words(public_data(f"wiki.{part}.tokens")).examples) == words


def test_the_manual_is_there_without_a_download():
    words = python_manual().examples
    assert len(words) > 150_000
    assert words[-1] == END_OF_LINE
    assert words.count("the") > 3000


def test_a_local_file_comes_before_a_download(tmp_path, monkeypatch):
    folder = tmp_path / "sets" / "finance"
    folder.mkdir(parents=True)
    (folder / "SEntFiN.csv").write_text("here")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setattr(sources.pooch, "retrieve", lambda *a, **k: pytest.fail("downloaded"))
    assert locate("sentfin").read_text() == "here"


def test_without_a_connection_the_message_says_where_to_put_the_file(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise sources.requests.ConnectionError

    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path)
    monkeypatch.setattr(sources.pooch, "retrieve", offline)
    with pytest.raises(CorpusError) as caught:
        locate("sentfin")
    assert "no connection" in str(caught.value)
    assert "COURSE_DATA" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def server(tmp_path):
    """Serve file.csv from this machine, and give its address."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file.csv").write_text("served")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path / "served")) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/file.csv"
        running.shutdown()
        thread.join()


def test_a_download_is_kept_only_with_the_right_checksum(tmp_path, monkeypatch, server):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path / "downloads")
    monkeypatch.setitem(sources.SOURCES, "sample", sources.Source("file.csv", server, "md5:" + "0" * 32))
    with pytest.raises(CorpusError, match="another checksum"):
        locate("sample")
    assert not list(sources.DOWNLOADS.rglob("file.csv"))
    right = "md5:" + hashlib.md5(b"served", usedforsecurity=False).hexdigest()
    monkeypatch.setitem(sources.SOURCES, "sample", sources.Source("file.csv", server, right))
    assert locate("sample").read_text() == "served"
