"""Objects that record or refuse every question: a look and a hunt ask none, and give their answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Each method that Python may call by itself prints its name and raises. Names of the program's classes and modules are
#: strings whose methods do so, too.
HOSTILE = """
import os, sys, types
if KIND == "real": import torch
armed = False
def asked(what):
    if armed:
        os.write(1, f"asked for {what}\\n".encode())
        raise RuntimeError(what)
class Meta(type):
    def __getattribute__(cls, name): asked(f"class.{name}"); return type.__getattribute__(cls, name)
    def __instancecheck__(cls, other): asked("__instancecheck__")
    def __subclasscheck__(cls, other): asked("__subclasscheck__")
    def __eq__(cls, other): asked("class.__eq__"); return cls is other
    def __hash__(cls): asked("class.__hash__"); return 1
    def __repr__(cls): asked("class.__repr__")
    def __bool__(cls): asked("class.__bool__"); return True
    def __len__(cls): asked("class.__len__")
class Hostile(metaclass=Meta):
    def __getattribute__(self, name): asked(name); raise AttributeError(name)
    def __eq__(self, other): asked("__eq__"); return self is other
    def __hash__(self): asked("__hash__"); return 1
    def __bool__(self): asked("__bool__")
    def __len__(self): asked("__len__")
    def __iter__(self): asked("__iter__")
    def __repr__(self): asked("__repr__")
    def __str__(self): asked("__str__")
    @property
    def __class__(self): asked("__class__"); return Hostile
class Text(str):
    __hash__ = str.__hash__
    def __eq__(self, other): asked("text.__eq__"); return str.__eq__(self, other)
    def __ne__(self, other): asked("text.__ne__"); return str.__ne__(self, other)
    def isprintable(self): asked("text.isprintable")
    def endswith(self, *_): asked("text.endswith")
class Module(types.ModuleType):
    def __getattribute__(self, name): asked(f"module.{name}"); return types.ModuleType.__getattribute__(self, name)
class Named: pass
Named.__qualname__, Named.__module__ = Text("Named"), Hostile()
sys.modules[Text("its name")] = types.ModuleType("its name")
sys.modules["an object"] = Hostile()
sys.modules["a module"] = Module("a module")
with_files = types.ModuleType("with files")
with_files.__file__, with_files.__spec__ = Text("/nowhere/file.py"), Hostile()
with_files.__getattr__ = lambda name: asked(f"module.__getattr__({name})")
sys.modules["with files"] = with_files
sys.modules["with an object"] = other = types.ModuleType("with an object")
other.__file__ = Hostile()
for name in ("numpy", "torch", "torch.autograd", "torch.optim.optimizer", "torch._dynamo.convert_frame", "greenlet"):
    if name not in sys.modules: sys.modules[name] = Module(name) if KIND == "module" else Hostile()
held = [Hostile(), Named(), {"key": Hostile()}, Hostile]
"""

#: All that a look can be asked. The first words of each answer are printed.
ASKS = """
import gradlife
armed = True
for one in held:
    print(str(gradlife.why(one)).splitlines()[0])
print(str(gradlife.why(Named(), budget=10)).splitlines()[0])
print(gradlife.refs(held[0]).count, gradlife.refs(held[0], scan=True).count)
before, after = gradlife.snapshot(), gradlife.snapshot(labels=True)
print(type(gradlife.census()).__name__, type(gradlife.diff(before, after)).__name__)
print(len(after.largest()) > 0, len(after.types()) > 0, after.cycles() is not None)
after.save("hostile.glheap")
armed = False
"""

#: What a hunt counts as steps keeps such objects.
TRAINS = """
kept, armed = [], True
def step(): kept.append([Hostile(), Named(), Hostile, Text(len(kept))])
for _ in range(150): step()
print("end", len(kept))
"""


def printed(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )
    assert "Error" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["object", "module", pytest.param("real", marks=pytest.mark.torch)])
def test_a_look_asks_no_object_class_or_module_of_the_program(tmp_path: Path, kind: str) -> None:
    assert printed(tmp_path, "-c", f"KIND = {kind!r}" + HOSTILE + ASKS).splitlines() == [
        "Hostile is held: a root reaches it",
        "Named is held: a root reaches it",
        "dict len 1 is held: a root reaches it",
        "Meta __main__.Hostile is held: a root reaches it",
        "Named was not found in the part of the heap that was read",
        "1 1",
        "Census HeapDiff",
        "True True True",
    ]
    assert os.listdir(tmp_path) == ["hostile.glheap"]


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.parametrize("option", ["", "--lines"])
def test_a_hunt_asks_none_either(tmp_path: Path, option: str) -> None:
    script = tmp_path / "train.py"
    script.write_text("KIND = 'real'" + HOSTILE + TRAINS, encoding="utf-8")
    words = ("-m", "gradlife", "hunt", "--step-on", "__main__:step", *option.split(), str(script))
    lines = printed(tmp_path, *words).splitlines()
    assert [line for line in lines if line.startswith(("asked", "end"))] == ["end 150"]
