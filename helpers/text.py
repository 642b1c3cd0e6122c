"""Words to numbers: tokens, and the vocabulary that numbers them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

PAD, UNKNOWN = "<pad>", "<unk>"  # numbers 0 and 1 in every vocabulary

_EMOJI = "[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
_EMOJI_MODIFIERS = "[\ufe0f\U0001f3fb-\U0001f3ff]*"
_TOKEN = re.compile(
    r"<unk>"  # as data sets write a word they left out
    "|[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two letters of its own
    f"|{_EMOJI}{_EMOJI_MODIFIERS}(?:\u200d{_EMOJI}{_EMOJI_MODIFIERS})*"  # joined ones are one picture
    r"|\d+(?:[.,]\d+)*"  # 1,204.5
    r"|\w+(?:['’]\w+)*",  # don't, town’s
    re.IGNORECASE,
)


def tokenize(text: str) -> list[str]:
    """Split `text` into lower-case words, numbers and emoji; punctuation is left out.

    Characters that look alike are made alike first (Unicode NFC, and ’ becomes '). May return an empty list.
    """
    return [t.lower().replace("’", "'") for t in _TOKEN.findall(unicodedata.normalize("NFC", text))]


@dataclass(frozen=True)
class Vocabulary:
    """The tokens that a model knows; a token's number is its place. `<pad>` is 0 and `<unk>` is 1."""

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.tokens[:2] != (PAD, UNKNOWN) or len(set(self.tokens)) != len(self.tokens):
            raise ValueError(f"a vocabulary begins with {PAD} and {UNKNOWN} and holds no token twice")

    @classmethod
    def build(cls, texts: Iterable[Sequence[str]], min_count: int = 1) -> "Vocabulary":
        """Number the tokens that occur at least `min_count` times, the most frequent first.

        Give it the training texts alone: a word that only the test set has must stay unknown.
        """
        counts = Counter(token for text in texts for token in text)
        known = sorted((t for t, n in counts.items() if n >= min_count), key=lambda t: (-counts[t], t))
        return cls((PAD, UNKNOWN, *(t for t in known if t not in (PAD, UNKNOWN))))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def encode(self, text: Sequence[str]) -> list[int]:
        """Return the tokens' numbers; 1 for a token that is not known, and for a `<pad>` written in the text."""
        return [self._numbers.get(token, 1) or 1 for token in text]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Return the tokens that the numbers stand for."""
        return [self.tokens[number] for number in numbers]

    def unknown_share(self, texts: Iterable[Sequence[str]]) -> float:
        """Return the share of tokens in `texts` that this vocabulary does not know, from 0 to 1."""
        numbers = [number for text in texts for number in self.encode(text)]
        return numbers.count(1) / len(numbers) if numbers else 0.0
