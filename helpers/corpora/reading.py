"""What every reader returns, and bytes to lines: encodings, line ends and what is no text at all."""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

Example = TypeVar("Example")


class CorpusError(ValueError):
    """A file that cannot be used: the message is one sentence that names it, what is wrong and what to do."""


class Rejected(NamedTuple):
    """A line, counted from 1, that was not kept, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Reading(Generic[Example]):
    """All that a reader found out about a file."""

    path: Path
    examples: tuple[Example, ...]
    rejected: tuple[Rejected, ...]
    encoding: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Lines:
    """A file's lines without their ends, the encoding they were read in, and what was doubtful about it."""

    lines: tuple[str, ...]
    encoding: str
    warnings: tuple[str, ...]


_BYTE_ORDER_MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_LINE_END = re.compile(r"\r\n|\n|\r")  # str.splitlines would also split at U+0085, U+2028 and form feeds


def read_lines(path: Path) -> Lines:
    """Read a text file: by its byte order mark, else UTF-8, and a line that is not UTF-8 as cp1252.

    Raises CorpusError where the file is missing, empty, not readable or not text.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file; check the name and the folder") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        cause = error.strerror if isinstance(error, OSError) else error
        raise CorpusError(f"{path}: cannot be read ({cause}); give a text file") from None
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if raw.startswith(mark)), _utf16_without_mark(raw))
    if encoding in (None, "utf-8-sig"):
        raw = raw.removeprefix(b"\xef\xbb\xbf")
        _refuse_binary(path, raw)
        lines, encoding, warnings = _decode_line_by_line(raw, encoding or "utf-8")
    else:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: damaged {encoding} at byte {error.start}; save it again as UTF-8") from None
        lines = _LINE_END.split(text)
        warnings = _mojibake(lines, [])
    if lines and lines[-1] == "":
        lines = lines[:-1]
    lines = [line.replace("\ufeff", "") for line in lines]  # marks inside come from files put together
    if not any(line.strip() for line in lines):
        raise CorpusError(f"{path}: the file is empty; it needs one example a line")
    return Lines(tuple(lines), encoding, tuple(warnings))


def number_list(numbers: Iterable[int], most: int = 5) -> str:
    """Write line numbers for a message: `3, 8, 9 and 12 more`."""
    numbers = list(numbers)
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + more


def _decode_line_by_line(raw: bytes, encoding: str) -> tuple[list[str], str, list[str]]:
    """Decode as UTF-8, and bytes that are none as cp1252, so that a bad one does not spoil the good ones."""
    lines, fallen_back, undefined, other = [], [], [], False
    for number, line in enumerate(re.split(rb"\r\n|\n|\r", raw), start=1):
        try:
            lines.append(line.decode("utf-8"))
            other = other or not line.isascii()
        except UnicodeDecodeError:
            fallen_back.append(number)
            lines.append(line.decode("utf-8", errors=_AS_CP1252))
            if "\ufffd" in lines[-1]:
                undefined.append(number)
    warnings = []
    if fallen_back:
        warnings.append(f"not UTF-8, read as cp1252: lines {number_list(fallen_back)}")
        encoding = "utf-8 and cp1252" if other else "cp1252"
    if undefined:
        warnings.append(f"bytes that cp1252 does not have, shown as \ufffd: lines {number_list(undefined)}")
    return lines, encoding, warnings + _mojibake(lines, undefined)


def _utf16_without_mark(raw: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark: in plain text every second byte is mostly zero."""
    sample = raw[: min(len(raw), 4000) // 2 * 2]
    for encoding, zeros, others in (
        ("utf-16-le", sample[1::2], sample[0::2]),
        ("utf-16-be", sample[0::2], sample[1::2]),
    ):
        if zeros.count(0) > 0.4 * len(zeros) and others.count(0) < 0.1 * len(others):
            text = sample.decode(encoding, errors="replace")
            return encoding if not any(ord(c) < 32 and c not in "\t\r\n" for c in text) else None
    return None


def _refuse_binary(path: Path, raw: bytes) -> None:
    """Raise CorpusError where the bytes cannot be text: zeros, or many control characters."""
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\v" for byte in raw[:100_000])
    if b"\x00" in raw or controls > max(3, 0.02 * min(len(raw), 100_000)):
        raise CorpusError(f"{path}: a binary file, not text; save it as UTF-8 text with one example a line")


def _as_cp1252(error: UnicodeDecodeError) -> tuple[str, int]:
    """Decode the bytes that are not UTF-8 as cp1252; the few that it does not have either become U+FFFD."""
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


_AS_CP1252 = "as cp1252"
codecs.register_error(_AS_CP1252, _as_cp1252)

_CONTINUATIONS = "".join(map(chr, range(0x80, 0xC0))) + bytes(range(0x80, 0xC0)).decode("cp1252", errors="ignore")
_MISREAD = re.compile(f"[\u00c2-\u00f4][{re.escape(_CONTINUATIONS)}]{{1,3}}")


def _is_utf8_misread(text: str) -> bool:
    """Tell whether characters were UTF-8's bytes, read as cp1252 or latin-1."""
    try:
        b"".join(c.encode("latin-1" if ord(c) < 256 else "cp1252") for c in text).decode("utf-8")
    except UnicodeError:
        return False
    return True


def _mojibake(lines: list[str], undefined: list[int]) -> list[str]:
    """Warn of lines whose UTF-8 was once read as cp1252 and saved again (`cafÃ©`), or that lost characters."""
    twice, lost = [], []
    for number, line in enumerate(lines, start=1):
        if line.isascii():
            continue
        if "\ufffd" in line and number not in undefined:
            lost.append(number)
        if any(_is_utf8_misread(found) for found in _MISREAD.findall(line)):
            twice.append(number)
    warnings = []
    if twice:
        warnings.append(f"mojibake (UTF-8 that was read as cp1252 once): lines {number_list(twice)}")
    if lost:
        warnings.append(f"characters lost before this file was written (\ufffd): lines {number_list(lost)}")
    return warnings
