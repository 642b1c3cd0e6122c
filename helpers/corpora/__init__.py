"""Files to text: readers that accept what people have, and say what they kept, rejected and doubted."""

from helpers.corpora.dialogues import Dialogue, read_dialogues
from helpers.corpora.headlines import Headline, read_headlines
from helpers.corpora.reading import CorpusError, Reading, Rejected
from helpers.corpora.sources import DATA, locate
from helpers.corpora.splitting import Split, distinct, overlap, refuse_untrainable, split
from helpers.corpora.streams import END_OF_LINE, python_manual, read_words

__all__ = [
    "DATA",
    "END_OF_LINE",
    "CorpusError",
    "Dialogue",
    "Headline",
    "Reading",
    "Rejected",
    "Split",
    "distinct",
    "locate",
    "overlap",
    "python_manual",
    "read_dialogues",
    "read_headlines",
    "read_words",
    "refuse_untrainable",
    "split",
]
