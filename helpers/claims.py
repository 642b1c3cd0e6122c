"""The ledger: what the two source articles claim, and what was found: on this machine, and on recorded ones."""

import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.corpora.sources import DATA

FOUND = DATA / "local" / "claims.json"  # this reader's own findings; git leaves the folder alone
_MEASURED = re.compile(r"≈\S+(?: (?:[nµm]?s|[MGK]iB)\b)?")
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
        first, *rest = _wrapped(text)
        print(f"│ {title:<9} {first}", *(f"│ {'':<9} {line}" for line in rest), sep="\n")
    print(f"└ verdict   {finding.verdict.upper()}")
    return finding


def recorded_findings(record: dict[str, Any]) -> dict[str, Finding]:
    """Return what a file of measurements says about the claims; those whose study was not measured are left out."""
    found = {}
    for name, rule in RULES.items():
        try:
            here, *parts = rule(record)
        except KeyError:  # a part that was not measured
            continue
        found[name] = Finding(here, verdict(*parts))
    return found


def _compile(record: dict[str, Any]) -> tuple:
    model = record["studies"]["language-model"]
    whole, output = (model["speed"][name]["ratio"] for name in ("torch.compile(model)", "output layer compiled"))
    graphs = model["first call of torch.compile(model)"]["graphs"]
    here = f"the whole model: {graphs} graphs, ≈{whole:.2f} ×; its output layer alone: ≈{output:.2f} ×"
    return here, whole >= 2.5, output >= 2.5


def _three_to_five(record: dict[str, Any]) -> tuple:
    ratios = [_summary(record, f"{name}_time_to_equal_perplexity_ratio") for name in ("dialogue", "language_model")]
    compiled = record["studies"]["dialogue"]["speed"]["torch.compile(model)"]["ratio"]
    here = (
        f"equal quality ≈{ratios[0]:.1f} × and ≈{ratios[1]:.1f} × sooner; torch.compile(model) gave ≈{compiled:.2f} ×"
    )
    return here, min(ratios) >= 3, compiled >= 3


def _fullgraph(record: dict[str, Any]) -> tuple:
    ways = record["studies"]["memory"]["output layer"]
    saved = 1 - ways["compiled, fullgraph"]["peak_mebibytes"] / ways["compiled"]["peak_mebibytes"]
    return f"fullgraph saves ≈{100 * saved:.0f} % of the compiled output layer's peak", saved > 0.05


def _reduce_overhead(record: dict[str, Any]) -> tuple:
    if record["provenance"]["device"] == "cpu":
        return "the mode is CUDA graphs, and does nothing on a CPU", None
    chunk, graphs = (record["studies"]["layers"][f"compiled chunk{mode}"] for mode in ("", ", reduce-overhead"))
    seconds = [ways["compiled"]["median_seconds"] for ways in (chunk, graphs)]
    first = [ways["compiled"]["first_call_seconds"] for ways in (chunk, graphs)]
    here = f"a step ≈{seconds[0] / seconds[1]:.2f} × as fast, its first call ≈{first[1] / first[0]:.2f} × as long"
    return here, seconds[1] < seconds[0], first[1] > first[0]


def _checkpoint(record: dict[str, Any]) -> tuple:
    plain, pieces = record["studies"]["memory"]["checkpoint over 800 steps"].values()
    saved = 1 - pieces["peak_mebibytes"] / plain["peak_mebibytes"]
    slower = pieces["median_seconds"] / plain["median_seconds"]
    return (
        f"800 steps: peak down ≈{100 * saved:.0f} %, time ≈{slower:.2f} ×; computed again, not reused",
        saved >= 0.4,
        slower < 1.05,  # what reuse would cost
    )


def _builtin(record: dict[str, Any]) -> tuple:
    forms = record["studies"]["layers"]["forms"]
    cells, hand = forms["one cell a step"]["ratio"], forms["backward by hand"]["ratio"]
    return f"a loop of cells ≈{cells:.2f} × nn.RNN, a backward by hand ≈{hand:.2f} ×", cells < 1.3, hand < 1.3


def _epochs(study: str, times: float) -> Callable[[dict[str, Any]], tuple]:
    def rule(record: dict[str, Any]) -> tuple:
        parts = record["studies"][study]
        slow, final = (parts["speed"][parts["facts"][end]] for end in ("slow", "final"))
        here = (
            f"≈{slow['epoch_seconds']:.3g} s an epoch to ≈{final['epoch_seconds']:.3g} s on another machine and "
            f"smaller data, ≈{final['ratio']:.1f} ×; the slow loop reads ≈{slow['units_per_second']:,.0f} tokens/s"
        )
        return here, final["ratio"] >= times, None

    return rule


def _memory(record: dict[str, Any]) -> tuple:
    saved = _summary(record, "dialogue_peak_memory_reduction")
    return f"the peak of a training step falls by ≈{100 * saved:.0f} %", saved >= 0.387


def _reply(record: dict[str, Any]) -> tuple:
    one = record["studies"]["dialogue"]["replies"]["1 threads"]
    slow, fast = (one["ways"][name]["p50_seconds"] for name in ("prefix again", "state carried"))
    here = f"on one thread a reply takes ≈{1000 * slow:.3g} ms, with the state carried ≈{1000 * fast:.3g} ms"
    return here, 1 - fast / slow >= 0.758, fast <= 0.052


def _amp(record: dict[str, Any]) -> tuple:
    gains = []
    for study, base in (("dialogue", "targets only"), ("language-model", "the article's loop")):
        speed = record["studies"][study]["speed"]
        gains.append(speed["bfloat16"]["ratio"] / speed[base]["ratio"])
    here = f"16-bit autocast on {record['provenance']['device']}: ≈{gains[0]:.2f} × and ≈{gains[1]:.2f} ×"
    return here, *(gain >= 1.5 for gain in gains)


def _summary(record: dict[str, Any], name: str) -> float:
    if record["summary"].get(name) is None:
        raise KeyError(name)
    return record["summary"][name]


RULES = {
    "compile-2.5x": _compile,
    "compile-3-to-5x": _three_to_five,
    "fullgraph-memory": _fullgraph,
    "reduce-overhead": _reduce_overhead,
    "checkpoint-40": _checkpoint,
    "builtin-first": _builtin,
    "personachat-epoch": _epochs("dialogue", 3.5),
    "wikitext2-epoch": _epochs("language-model", 4.2),
    "personachat-memory": _memory,
    "reply-latency": _reply,
    "amp-1.5-to-3x": _amp,
}


def _wrapped(text: str) -> list[str]:
    """Break `text` into lines of about 84 characters, at the same places however wide its measured values are."""
    values = iter(_MEASURED.findall(text))
    lines = textwrap.wrap(_MEASURED.sub("≈" * 9, text), 84)
    return [re.sub("≈{9}", lambda _: next(values), line) for line in lines]


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
