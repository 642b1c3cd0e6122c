"""The ledger: what the two source articles claim, and what was found on this machine."""

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path

from helpers.corpora.sources import DATA

FOUND = DATA / "local" / "claims.json"  # this reader's own findings; git leaves the folder alone
HELD, PARTLY, DID_NOT_HOLD, NEEDS_HARDWARE = "held", "partly", "did not hold", "needs hardware"


@dataclass(frozen=True)
class Claim:
    """One claim: who makes it, what it says, what measures it, and the notebooks that do."""

    id: str
    article: str
    claim: str
    measured_by: str
    notebooks: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What a notebook measured for a claim, and the verdict that follows."""

    here: str
    verdict: str


def all_claims() -> dict[str, Claim]:
    """Return the claims by their names, in the order of the articles."""
    entries = json.loads((DATA / "claims.json").read_text(encoding="utf-8"))
    return {entry["id"]: Claim(**{**entry, "notebooks": tuple(entry["notebooks"])}) for entry in entries}


def verdict(*parts: bool | None) -> str:
    """Compute a verdict from the parts of a claim: True held, False did not, None could not be tried here.

    Held where all that could be tried held; needs hardware where nothing could be; else partly, or did not hold.
    """
    tried = [part for part in parts if part is not None]
    if not tried:
        return NEEDS_HARDWARE
    if all(tried):
        return HELD
    return PARTLY if any(tried) else DID_NOT_HOLD


def judge(name: str, here: str, *parts: bool | None) -> Finding:
    """Record what was found for claim `name`, print the box, and return the finding.

    `here` says what was measured; `parts` are the conditions that were tried (see `verdict`).
    Raises KeyError for a claim that is not in the ledger.
    """
    claim, finding = all_claims()[name], Finding(here, verdict(*parts))
    found = {**_read(FOUND), name: {"here": finding.here, "verdict": finding.verdict}}
    FOUND.parent.mkdir(parents=True, exist_ok=True)
    FOUND.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"┌ claim {name} (the {claim.article} article)")
    for title, text in (("they say", claim.claim), ("here", finding.here)):
        first, *rest = textwrap.wrap(text, 84)
        print(f"│ {title:<9} {first}", *(f"│ {'':<9} {line}" for line in rest), sep="\n")
    print(f"└ verdict   {finding.verdict.upper()}")
    return finding


def findings() -> dict[str, Finding]:
    """Return what was found on this machine so far; a claim that no notebook has tried is not among them."""
    return {name: Finding(**entry) for name, entry in _read(FOUND).items()}


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError:
        print(f"{path} is damaged and is begun anew")
        return {}
