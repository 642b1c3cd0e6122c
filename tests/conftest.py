"""What several tests need: the folder of public data sets, where the reader has one."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def public_data():
    """Return a function that gives the path of a public file, or skips the test with the reason."""

    def find(name: str) -> Path:
        folder = os.environ.get("COURSE_DATA")
        if not folder:
            pytest.skip("COURSE_DATA does not name a folder with public data sets")
        found = sorted(Path(folder).rglob(name))
        if not found:
            pytest.skip(f"{name} is not in {folder}")
        return found[0]

    return find
