"""Advice for runs with too few steps."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradlife.hunting.findings.short_runs import advice, step_functions
from gradlife.hunting.steps.compiler import TRACER

SCRIPT = """\
import torch
from helpers import load

def prepare():
    return load()

def answer(request):
    return request

class Server:
    def serve(self):
        while True:
            self.handle(load())

    def handle(self, request):
        return answer(request)

prepare()
for request in range(3):
    print(answer(request))
"""


def test_functions_of_the_script_that_its_loops_call_are_named(tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SCRIPT)
    assert [*step_functions(str(script))] == ["answer", "Server.handle"]
    assert advice(str(script), 0, "") == (
        "what grows: no step was seen, for no optimizer fired, no DataLoader gave batches and nothing ran backward often: let "
        f"it run longer, or count calls of answer (or Server.handle) → gradlife hunt --step-on __main__:answer {script}"
    )


def test_a_script_without_functions_is_reported_to_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch.nn", raising=False)
    script = tmp_path / "flat.py"
    script.write_text("for number in range(3):\n    print(number)\n")
    assert [*step_functions(str(script))] == []
    assert advice(str(script), 14, "SGD.step") == (
        "what grows: SGD.step was seen 14 times, and 80 times tell: let it run longer, or put what it repeats in a function "
        f"and name that → put the loop's body in F: gradlife hunt --step-on __main__:F {script}"
    )


def test_in_a_script_without_functions_calls_of_its_modules_are_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`import torch` is not enough: without a module, the next hunt would say that none was called."""
    library = ModuleType("torch.nn")
    library.Module = type("Module", (), {"weights": []})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.nn", library)
    script = tmp_path / "flat.py"
    script.write_text("for number in range(3):\n    print(number)\n")
    assert "--step-on __main__:F" in advice(str(script), 0, "")
    net = type("Net", (library.Module,), {})()
    net.itself = net
    assert advice(str(script), 0, "").endswith(
        f"or count the calls of modules → gradlife hunt --step-on torch.nn:Module.__call__ {script}"
    )


def test_what_is_no_readable_script_has_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n")
    assert [*step_functions(str(broken))] == []
    assert [*step_functions(str(tmp_path / "absent.py"))] == []
    assert [*step_functions(f"{broken}::step")] == []
    assert [*step_functions("no target")] == []


def test_a_named_function_that_is_never_called_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report said that no optimizer fired, although the steps were to be calls of a function."""
    monkeypatch.delitem(sys.modules, TRACER, raising=False)
    assert advice("train.py", 0, "", "trainers:fit") == (
        "what grows: trainers was never imported: leave out --step-on → gradlife hunt train.py"
    )
    assert advice("train.py", 0, "", "sys:exit") == (
        "what grows: sys:exit was never called: leave out --step-on → gradlife hunt train.py"
    )
    assert "was seen 4 times" in advice("train.py", 4, "call of fit", "trainers:fit")
