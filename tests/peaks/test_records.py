"""Objects that are made anew in each step, and objects that last."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.peaks.recording.records import is_bound_anew, is_filled_by_its_class, is_stored_by_key


class Meter:
    """Keeps what it saw last."""

    def __init__(self) -> None:
        self.first = 0
        self.items: dict[str, int] = {}
        self.last: int | None = None

    def note(self, value: int) -> None:
        self.last = value
        self.items["last"] = value


@pytest.mark.parametrize(("attribute", "is_filled"), [("first", False), ("last", True), ("items", True)])
def test_a_class_that_fills_a_field_later_keeps_it(attribute: str, is_filled: bool) -> None:
    assert is_filled_by_its_class(f"{__name__}.Meter", attribute) is is_filled


def test_a_class_without_source_fills_nothing() -> None:
    assert not is_filled_by_its_class("nowhere.Meter", "last")


def test_a_global_is_bound_anew_in_a_loop_or_by_a_function(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("once = 1\nfor n in range(3):\n    out = n\ndef f():\n    global kept\n    kept = local = 1\n")
    assert [is_bound_anew(str(file), name) for name in ("once", "out", "kept", "local")] == [False, True, True, False]


def test_an_item_has_a_statement_of_its_own_if_its_key_is_written_there(tmp_path: Path) -> None:
    """One statement of a hook stores under every name: that is one edit, and was three once."""
    file = tmp_path / "hooks.py"
    file.write_text("def hook(self, name, x):\n    kept[name] = x\n    self.state['x'] = x\n")
    asked = [("kept", "['x']"), (".state", "['x']"), (".state", "['y']"), ("state", "['x']")]
    assert [is_stored_by_key(str(file), *one) for one in asked] == [False, True, False, False]
