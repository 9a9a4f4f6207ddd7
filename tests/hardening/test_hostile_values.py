"""Values of the program that refuse every question: the parts of a hunt, a peak and the plugin that meet them ask none."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.hunting.findings.failed_program import is_out_of_memory
from gradlife.hunting.findings.reference_cuts import Cut
from gradlife.hunting.snapshots.function_modes import leaves
from gradlife.hunting.workers.copies import most_copied
from gradlife.hunting.workers.entries import loader_worker
from gradlife.peaks.recording.modes import modes_of_program
from gradlife.program.hunt.on_oom import OnOom
from gradlife.program.hunt.processes import is_of_program
from gradlife.program.hunt.reference_cutter import PlaceCutter, next_object
from gradlife.program.script import exit_status, strip_own_frames
from gradlife.pytest_plugin.checks.gc_boundary import module_of
from gradlife.pytest_plugin.checks.repeats import in_a_line, reference_to
from gradlife.pytest_plugin.lifetimes import contents

#: The questions that were asked.
asked: list[str] = []


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        asked.append(f"class.{name}")
        return super().__getattribute__(name)

    def __eq__(cls, other: object) -> bool:
        asked.append("class.__eq__")
        return cls is other

    def __hash__(cls) -> int:
        asked.append("class.__hash__")
        return 1


def refuse(name: str) -> Callable[..., Any]:
    def method(self: object, *arguments: object) -> Any:
        asked.append(name)
        raise RuntimeError(name)

    return method


def hostile(*bases: type) -> Any:
    """Return a class whose methods note that they were asked."""
    names = ("__getattribute__", "__eq__", "__hash__", "__bool__", "__len__", "__iter__", "__repr__", "__str__")
    more = ("__getitem__", "__setitem__", "__call__", "values", "items", "keys", "pop", "popitem", "__and__")
    return Meta("Hostile", bases, {"__slots__": (), **{name: refuse(name) for name in (*names, *more)}})


Plain, List, Dict, Int = hostile(), hostile(list), hostile(dict), hostile(int)
Failed = hostile(RuntimeError)


def process_of(target: object) -> Any:
    """Return what looks like a process that is about to start."""
    process = type("Process", (), {"__getattribute__": refuse("__getattribute__")})()
    object.__getattribute__(process, "__dict__").update(_target=target)
    return process


def keyed() -> dict[object, object]:
    """Return a dict whose key is hostile once it is in it."""
    kind = type("Key", (Plain,), {"__hash__": lambda self: 1})
    return {kind(): 1}


def written(error: BaseException) -> str:
    """Return what is written of an error that ended the program."""
    texts: list[str] = []
    report = SimpleNamespace(_reserve=SimpleNamespace(release=lambda: None), _observed=None)
    report._closed = SimpleNamespace(is_set=lambda: False)
    report._write = lambda text, *rest, **more: texts.append(text)
    OnOom._failed(report, error)  # type: ignore[arg-type]
    return texts[0]


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "arguments of a function": (lambda: len([*leaves((Plain(), List([1, 2]), Dict(a=3)))]), 4),
    "a failure": (lambda: is_out_of_memory(Failed("out of memory")), True),
    "a failure for a report": (lambda: written(Failed("out of memory")), "Hostile: out of memory"),
    "a failure in a test": (lambda: in_a_line(Failed("no\nmore")), "Hostile: no"),
    "a started process": (lambda: is_of_program(process_of(Plain())), True),
    "an error that ends the program": (lambda: strip_own_frames(Failed("no")), None),
    "copied values": (lambda: most_copied({"one": List([keyed(), Plain()] * 1000)}, os.getpid()).items, 2000),
    "a list to cut": (lambda: PlaceCutter(Cut("", "", (), ""))._drop_items(List([Plain()])), None),
    "an item of a list": (lambda: next_object(List([1, 2]), "item", "", 1), 2),
    "a key": (lambda: next_object(keyed(), "dict_value", "<Key>", 0), 1),
    "an exit status": (lambda: exit_status(Int(259)), 3),
    "a fixture's value": (lambda: reference_to(Plain())(), None),
    "a value of a runner": (lambda: module_of(Plain()), __name__),
    "a result": (lambda: len([*contents(List([Plain()]))]), 1),
    "a mode": (lambda: len(modes_of_program(SimpleNamespace(_get_current_dispatch_mode_stack=lambda: [Plain()]))), 1),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CASES)
def test_no_question_is_asked_of(name: str) -> None:
    function, expected = CASES[name]
    asked.clear()
    assert function() == expected
    assert asked == []


def test_the_worker_of_a_spawned_loader_does_not_ask_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradlife.hunting.workers.entries.start_method", lambda: "spawn")
    kind = type("Dataset", (), {"__len__": refuse("__len__"), "__getattr__": refuse("__getattr__")})
    asked.clear()
    first, second = kind(), kind()
    first.rows, second.rows = [1, 2, 3], [1, 2]
    assert loader_worker(first, 0, 1) != loader_worker(second, 0, 1)
    assert asked == []


@pytest.mark.torch
def test_tensors_and_modules_of_the_program_are_read_without_their_methods() -> None:
    torch = pytest.importorskip("torch")
    from gradlife.hunting.snapshots.stale_activations import Watch
    from gradlife.peaks.recording.torch import Contexts
    from gradlife.program.trial import numbers

    class Own(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, args, kwargs or {})

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def named_modules(self, *arguments: Any, **options: Any) -> Any:
            asked.append("named_modules")
            return super().named_modules(*arguments, **options)

    loss, net, contexts = torch.ones(1).as_subclass(Own), Net(), Contexts()
    net.inner = Net()
    asked.clear()
    assert [*numbers([loss])] == [1.0]
    watch = Watch([], [id(loss)])
    watch.start()
    watch.stop()
    contexts._is_on = True
    contexts._enter_module(net, ())
    assert contexts.names == ["", "Net"]
    assert sorted(contexts._named) == ["Net", "inner"]
    assert asked == []
