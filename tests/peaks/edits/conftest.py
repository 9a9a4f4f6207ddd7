"""Programs of one file: the modules of the tests are loaded beside them, and are no parts of them."""

from __future__ import annotations

import pytest

from gradlife.peaks.edits import graph_readers, zeroing


@pytest.fixture(autouse=True)
def _one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (graph_readers, zeroing):
        monkeypatch.setattr(module, "other_sources", lambda file: iter(()))
