"""Objects that are made anew in each step, and objects that last."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.peaks.recording.holders import Holder, holders_now
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


class Layer:
    """Keeps keys that it gets later."""

    def __init__(self) -> None:
        self.keys: Any = None

    def update(self, keys: Any) -> None:
        self.keys = keys


class Cache:
    """Layers, as a model makes them in each call."""

    def __init__(self) -> None:
        self.layers = [Layer()]


class Output(OrderedDict[str, Any]):
    """What a model returns."""

    cache: Cache


def holders_at(storage: int) -> list[Holder]:
    """The holders of a storage, by its address."""
    ensure_calibrated()
    return in_fork(holders_now)[storage].holders


@pytest.mark.torch
def test_a_cache_in_the_output_of_a_model_goes_with_the_output() -> None:
    """peft's programs were told to set the keys of a layer of the cache to None."""
    torch = pytest.importorskip("torch")

    def forward() -> list[Holder]:
        output = Output()
        output.cache = Cache()
        output.cache.layers[0].update(torch.ones(100_003))
        return holders_at(output.cache.layers[0].keys.untyped_storage()._cdata)

    named = [(str(one.kind), one.name, one.path) for one in forward() if one.can_let_go]
    assert named == [("local", "output", ".cache.layers[0].keys")]


@pytest.mark.torch
def test_a_cache_that_lasts_keeps_its_keys_by_an_attribute() -> None:
    torch = pytest.importorskip("torch")
    kept = Cache()
    kept.layers[0].update(torch.ones(100_003))
    [holder] = [one for one in holders_at(kept.layers[0].keys.untyped_storage()._cdata) if one.can_let_go]
    assert holder.text == "attribute .keys of Layer"


LOOP = """\
def items():
    for number in range(3):
        found.append(holders_at(last[0]) if last else [])
        yield [torch.ones(50_001 + number)]


for number, (item,) in enumerate(items()):
    last[:] = [item.untyped_storage()._cdata]
"""


@pytest.mark.torch
def test_enumerate_in_a_script_keeps_its_last_item_while_the_next_one_is_made(tmp_path: Path) -> None:
    """The stack of a module's frame was not read within a call of C code, and `del item` was said to be enough."""
    torch, found = pytest.importorskip("torch"), list[list[Holder]]()
    file = tmp_path / "script.py"
    file.write_text(LOOP)
    names = {"torch": torch, "holders_at": holders_at, "found": found, "last": []}
    exec(compile(LOOP, str(file), "exec"), names)
    texts = [[one.text for one in holders if one.kind == "iterator"] for holders in found]
    assert texts == [[], *[["the last item of `enumerate` in <module> (script.py:7)"]] * 2]
