"""Launchers give the ranks that they end time for their reports, however busy the machine is."""

from __future__ import annotations

import pytest

from processes import HANGS


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchrun kills a rank half a minute after it has asked it to end."""
    monkeypatch.setenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", f"{HANGS:.0f}")
