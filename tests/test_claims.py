"""Verdicts are computed, and findings are kept."""

import pytest

from helpers import claims


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
