"""Verdicts are computed, and findings are kept."""

import re

import pytest

from helpers import claims
from helpers.studies import summary


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ((True,), "held"),
        ((True, True, None), "held"),
        ((True, False), "partly"),
        ((False, None), "did not hold"),
        ((False, False), "did not hold"),
        ((None, None), "needs hardware"),
        ((), "needs hardware"),
    ],
)
def test_a_verdict_follows_from_what_was_tried(parts, verdict):
    assert claims.verdict(*parts) == verdict


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "FOUND", tmp_path / "local" / "claims.json")
    return claims.FOUND


def test_a_finding_is_printed_kept_and_replaced_by_a_later_one(ledger, capsys):
    claims.judge("last-step", "first try", True)
    claims.judge("dynamic-graph", "graphs differ", True)
    claims.judge("last-step", "it reads padding", True, False)
    found = claims.findings()
    assert found["last-step"] == claims.Finding("it reads padding", "partly")
    assert set(found) == {"last-step", "dynamic-graph"}
    out = capsys.readouterr().out
    assert "they say" in out
    assert "verdict   PARTLY" in out


def test_a_claim_that_is_not_in_the_ledger_is_an_error(ledger):
    with pytest.raises(KeyError):
        claims.judge("faster-than-light", "", True)
    assert not ledger.exists()


def test_a_damaged_ledger_is_begun_anew_and_said(ledger, capsys):
    ledger.parent.mkdir()
    ledger.write_text('{"last-step": ')
    claims.judge("last-step", "again", True)
    assert "damaged" in capsys.readouterr().out
    assert set(claims.findings()) == {"last-step"}


def test_no_finding_is_no_error(ledger):
    assert claims.findings() == {}


def test_a_box_breaks_its_lines_at_the_same_places_however_wide_the_values_are(ledger, capsys):
    boxes = []
    for value in ("≈1 ms", "≈1,234,567 ms", "≈12.3 s"):
        claims.judge("compile-2.5x", f"{'word ' * 13}took {value} and then {value} again, with more words behind", True)
        boxes.append(re.sub(r"≈\S+ m?s", "#", capsys.readouterr().out))
    assert boxes[0] == boxes[1] == boxes[2]
    assert boxes[0].count("\n") > 4


def record(**studies):
    return {"provenance": {"device": "cpu"}, "studies": studies, "summary": summary(studies)}


def rung(ratio, tokens=1000.0, seconds=10.0):
    return {"ratio": ratio, "units_per_second": tokens, "epoch_seconds": seconds}


def test_a_recorded_verdict_follows_from_the_measurements():
    speed = {"the article's loop": rung(1.0, 4000.0), "torch.compile(model)": rung(1.0)}
    first = {"graphs": 0}
    for output, verdict in ((1.3, "did not hold"), (2.6, "partly")):
        model = {
            "speed": {**speed, "output layer compiled": rung(output)},
            "first call of torch.compile(model)": first,
            "first call of output layer compiled": {"graphs": 1},
        }
        found = claims.recorded_findings(record(**{"language-model": model}))
        assert found["compile-2.5x"].verdict == verdict
        assert f"≈{output:.2f} ×" in found["compile-2.5x"].here


def test_memory_that_fell_by_half_holds_against_the_article_s_39_percent():
    peaks = {"facts": {"slow": "s", "final": "f"}, "first call of s": {"peak_mebibytes": 100.0}}
    for final, verdict in ((50.0, "held"), (80.0, "did not hold")):
        dialogue = {**peaks, "first call of f": {"peak_mebibytes": final}}
        assert claims.recorded_findings(record(dialogue=dialogue))["personachat-memory"].verdict == verdict


def test_a_claim_whose_study_was_not_measured_has_no_recorded_verdict():
    found = claims.recorded_findings(record())
    assert set(found) == {"reduce-overhead"}
    assert found["reduce-overhead"].verdict == "needs hardware"


def test_every_rule_belongs_to_a_claim():
    assert set(claims.RULES) <= set(claims.all_claims())
