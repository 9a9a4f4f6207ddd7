"""gradlife's own threads end quietly, whatever the program does to `threading`."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gradlife.hunting.steps.own_thread import OwnThread

known: dict[int, Any] = vars(threading)["_active"]


def test_thread_that_began_before_gevent_renamed_all_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`gevent.monkey.patch_all` puts its own `get_ident` into `threading`."""
    is_over = threading.Event()

    class Waiting(OwnThread):
        def run(self) -> None:
            is_over.wait()

    thread = Waiting("gradlife")
    thread.start()
    real = threading.get_ident
    monkeypatch.setattr(threading, "get_ident", lambda: real() + (known.get(real()) is thread))
    is_over.set()
    thread.join()
    monkeypatch.undo()
    assert known.pop(thread.ident or 0) is thread
    assert capfd.readouterr() == ("", "")
