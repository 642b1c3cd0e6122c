"""Dialogues in Persona-Chat's format."""

import re
from dataclasses import dataclass
from pathlib import Path

from helpers.corpora.reading import Reading, Rejected, number_list, read_lines

_NUMBERED = re.compile(r"(\d{1,9})(?:(?=\s)(.*))?")
_PERSONA = re.compile(r"(your|partner's) persona:\s*([^\t]+)")


@dataclass(frozen=True)
class Dialogue:
    """Facts about the speaker and, where known, about the partner; then (utterance, reply) pairs."""

    line: int
    persona: tuple[str, ...]
    partner_persona: tuple[str, ...]
    exchanges: tuple[tuple[str, str], ...]


def read_dialogues(path: Path | str) -> Reading[Dialogue]:
    """Read numbered lines: `N your persona: …`, then `N utterance<TAB>reply`.

    A number that does not rise begins a new dialogue. Fields after the reply (rewards, candidates) are left
    out, as Persona-Chat means them to be. Lines that are neither are rejected and reading goes on.
    Raises CorpusError for a file that is missing, empty or no text.
    """
    path = Path(path)
    source = read_lines(path)
    dialogues: list[Dialogue] = []
    rejected, skipped, late = [], [], []
    persona, partner, exchanges = [], [], []
    begin, last = 1, 0

    def finish() -> None:
        if exchanges:
            dialogues.append(Dialogue(begin, tuple(persona), tuple(partner), tuple(exchanges)))
        elif persona or partner:
            rejected.append(Rejected(begin, "a dialogue without an exchange"))

    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        found = _NUMBERED.fullmatch(line.strip())
        if found is None:
            rejected.append(Rejected(number, "no number at its start"))
            continue
        count, content = int(found[1]), (found[2] or "").removeprefix(" ")
        if count <= last or last == 0:
            finish()
            persona, partner, exchanges, begin = [], [], [], number
            last = 0
        if count != last + 1:
            skipped.append(number)
        last = count
        if fact := _PERSONA.fullmatch(content.strip()):
            (persona if fact[1] == "your" else partner).append(fact[2])
            if exchanges:
                late.append(number)
            continue
        utterance, _, rest = content.partition("\t")
        reply = rest.partition("\t")[0].strip()
        if not utterance.strip() or not reply:
            missing = "utterance" if not utterance.strip() else "reply"
            rejected.append(Rejected(number, f"no {missing}"))
            continue
        exchanges.append((utterance.strip(), reply))
    finish()
    warnings = list(source.warnings)
    if skipped:
        warnings.append(f"numbers skipped before lines {number_list(skipped)}")
    if late:
        warnings.append(f"persona after the talk began: lines {number_list(late)}")
    return Reading(path, tuple(dialogues), tuple(sorted(rejected)), source.encoding, tuple(warnings))
