"""Both sides wait for one another as long as it takes: on a busy machine a process imports gradlife for minutes."""

from __future__ import annotations

import pytest

from gradlife.attach import client, server
from processes import HANGS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a process time to answer, and the client before one's own time to go."""
    monkeypatch.setattr(client, "PATIENCE", HANGS)
    monkeypatch.setattr(server, "PATIENCE", HANGS)
