"""Recorded measurements are whole, say what they were made with, and README shows them and no others."""

import json

import pytest

from helpers.studies import read_record, recorded, report, summary
from helpers.studies.recording import MEASUREMENTS
from notebooks import ROOT

PATHS = sorted(MEASUREMENTS.glob("machine-*.json"))


def test_there_is_a_record():
    assert PATHS
    assert set(recorded()) == {path.stem for path in PATHS}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_record_names_its_machine_and_its_summary_follows_from_its_studies(path):
    record = read_record(path)
    assert {"machine", "cores", "threads", "device", "torch", "date", "repeats"} <= set(record["provenance"])
    assert record["summary"] == json.loads(json.dumps(summary(record["studies"])))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_readme_shows_a_record_as_it_is(path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert report(read_record(path)) in readme, "print helpers.studies.report(record) into README.md"


def test_readme_shows_no_measured_value_without_a_record():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rest = readme
    for record in recorded().values():
        rest = rest.replace(report(record), "")
    assert "≈" not in rest
