"""Objects that are made anew in each step, and objects that last."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradlife.peaks.recording.holders import UPDATED
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


@pytest.fixture(scope="module")
def holders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The holders that each program of `held_storages` saw."""
    pytest.importorskip("torch")
    program = "import sys; sys.path.append(sys.argv[1]); import held_storages; held_storages.say_all(sys.argv[2])"
    words = [str(Path(__file__).with_name("support")), str(tmp_path_factory.mktemp("held"))]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.torch
def test_a_cache_in_the_output_of_a_model_goes_with_the_output(holders: dict[str, Any]) -> None:
    """peft's programs were told to set the keys of a layer of the cache to None."""
    assert holders["cache_in_an_output"] == [["local", "output", ".cache.layers[0].keys"]]


@pytest.mark.torch
def test_a_cache_that_lasts_keeps_its_keys_by_an_attribute(holders: dict[str, Any]) -> None:
    assert holders["cache_that_lasts"] == ["attribute .keys of Layer"]


@pytest.mark.torch
def test_a_gradient_of_which_an_optimizer_has_the_parameter_is_told(holders: dict[str, Any]) -> None:
    assert holders["gradient_of_an_optimizer"] == [[UPDATED], [""]]


@pytest.mark.torch
def test_enumerate_in_a_script_keeps_its_last_item_while_the_next_one_is_made(holders: dict[str, Any]) -> None:
    """The stack of a module's frame was not read within a call of C code, and `del item` was said to be enough."""
    last_item = "the last item of `enumerate` in <module> (script.py:7)"
    assert holders["loop_over_enumerate"] == [[], [last_item], [last_item]]
