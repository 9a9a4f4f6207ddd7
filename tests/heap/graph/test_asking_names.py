"""`gradlife.why` names the holders of an object, not the variables of whoever asks."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import gradlife
from gradlife.model.trace import Trace


class Thing:
    """Something to hold."""


class Shelf:
    """Something that holds."""

    def __init__(self) -> None:
        self.first: Thing | None = Thing()
        self.again: list[Thing] = []


shelf = Shelf()
kept: list[Thing] = []


def words(steps: tuple[object, ...]) -> str:
    return "".join(str(getattr(step, "via", "")) for step in steps)


def test_the_variable_of_whoever_asks_is_left_out() -> None:
    suspect = shelf.first
    trace = gradlife.why(suspect)
    assert words(trace.steps) == "global variable 'shelf'.first"
    assert "local variable 'suspect'" in trace.asked_by
    assert "left out: running frame" in str(trace)
    assert trace.others == ()


def test_each_holder_has_a_path_up_to_three() -> None:
    suspect = Thing()
    shelf.again, shelf.first = [suspect], suspect
    kept.append(suspect)
    try:
        trace = gradlife.why(suspect)
    finally:
        kept.clear()
        shelf.again = []
    found = {words(trace.steps), *map(words, trace.others)}
    assert found == {"global variable 'shelf'.first", "global variable 'shelf'.again[0]", "global variable 'kept'[0]"}
    assert "Holder 2, on its own:" in str(trace)
    assert "Holder 3, on its own:" in str(trace)


def test_a_name_that_alone_holds_it_is_its_path() -> None:
    alone = Thing()
    trace = gradlife.why(alone)
    assert words(trace.steps) == "local variable 'alone'"
    assert "nothing else holds it: it is freed when this name goes" in str(trace)


def explained(thing: Thing) -> Trace:
    trace: Trace = gradlife.why(thing)
    return trace


def test_a_variable_of_the_callers_caller_is_a_holder() -> None:
    suspect = Thing()
    assert words(explained(suspect).steps) == "local variable 'suspect'"
    assert "argument 'thing'" in explained(suspect).asked_by or "local variable 'thing'" in explained(suspect).asked_by


def test_a_module_that_asks_leaves_out_its_own_variable(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(
        "import gradlife\n"
        "class Shelf:\n    pass\n"
        "shelf = Shelf()\nshelf.thing = Shelf()\nsuspect = shelf.thing\n"
        "trace = gradlife.why(suspect)\n"
    )
    sys.modules.pop("asking", None)
    sys.path.insert(0, str(tmp_path))
    try:
        trace = __import__("asking").trace
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("asking", None)
    assert words(trace.steps) == "global variable 'shelf'.thing"
    assert trace.asked_by == "module asking: global variable 'suspect'"


def test_a_tensor_that_only_a_graph_holds_besides_has_that_path(tmp_path: Path) -> None:
    (tmp_path / "saves.py").write_text(
        "import gradlife, gradlife.engine as torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "def ask():\n    y = x * x\n    loss = (y * y).sum()\n    return str(gradlife.why(y))\n"
        "said = ask()\n"
    )
    said = runpy.run_path(str(tmp_path / "saves.py"))["said"]
    assert "local variable 'loss'" in said
    assert "left out: running frame ask" in said


def test_a_result_that_an_interactive_session_keeps_is_no_holder() -> None:
    source = (
        "import sys, gradlife\n"
        "sys.ps1 = '>>> '\n"
        "class Thing: pass\n"
        "thing, box = Thing(), [None]\n"
        "box[0] = thing\n"
        "_ = thing\n"
        "print(gradlife.why(thing).steps[0].via)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "global variable 'box'\n"
