"""Packed data and hooks that still exist at interpreter exit.

The policy `leak` (PyTorch's) leaves them alone once the interpreter is gone: exit status 0, and no `__del__` runs,
whoever held the graph. The broken policy `release` frees them all the same: `__del__` runs in an interpreter that is
being taken down, and if a C++ static was the holder the process is killed, since no interpreter is left to run
anything.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from leftovers import run_script

# The hooks live in a namespace of their own: through their globals they would keep the main module, and so themselves.
PROGRAM = """
import atexit, builtins, os, sys
import gradlife.engine as torch
from gradlife import _engine

apart = {}
exec('''
import os
class Told:
    def __init__(self, name):
        self.name = name
    def __del__(self, write=os.write):
        write(2, ("del " + self.name + "\\\\n").encode())
class Pack(Told):
    def __call__(self, tensor):
        return Told("packed")
class Unpack(Told):
    def __call__(self, packed):
        return packed
''', apart)

def build():
    with torch.autograd.graph.saved_tensors_hooks(apart["Pack"]("pack"), apart["Unpack"]("unpack")):
        return torch.ones(1, requires_grad=True).sin()

atexit.register(os.write, 2, b"atexit\\n")
HOLDERS = {
    "dropped": lambda y: None,
    "a module global": lambda y: globals().__setitem__("kept", y),
    "builtins": lambda y: setattr(builtins, "kept", y),
    "sys": lambda y: setattr(sys, "kept", y),
    "a cycle through C++": lambda y: y.grad_fn.metadata.__setitem__("kept", y),
    "a C++ static": _engine._hold_until_exit,
}
HOLDERS[sys.argv[1]](build())
"""
HOLDERS = ["a module global", "builtins", "sys", "a cycle through C++", "a C++ static"]
DELETED = ["del pack", "del unpack", "del packed"]


def run_to_exit(holder: str, profile: str) -> tuple[int, list[str]]:
    done: subprocess.CompletedProcess[str] = run_script(PROGRAM, holder, GRADLIFE_PROFILE=profile)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("profile", ["torch-2.13", "torch-1.10"])
def test_a_graph_dropped_before_exit_lets_everything_go_before_it(profile: str) -> None:
    assert run_to_exit("dropped", profile) == (0, [*DELETED, "atexit"])


@pytest.mark.parametrize("profile", ["torch-2.13", "torch-1.10"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_at_exit_hooks_and_packed_data_are_left_alone(holder: str, profile: str) -> None:
    assert run_to_exit(holder, profile) == (0, ["atexit"])


@pytest.mark.parametrize("holder", ["a module global", "builtins"])
def test_the_broken_release_runs_dels_in_a_dying_interpreter(holder: str) -> None:
    assert run_to_exit(holder, "broken-interpreter-exit") == (0, ["atexit", *DELETED])


def test_the_broken_release_kills_a_process_whose_interpreter_is_gone_already() -> None:
    ended = [
        run_to_exit("a C++ static", "broken-interpreter-exit") for _ in range(1 if sys.version_info < (3, 12) else 8)
    ]
    # Killed by a signal, unless a sanitizer tells of it first; from 3.12 on now and then it survives what it reads there.
    assert any(status != 0 for status, _ in ended)
    assert [lines[0] for _, lines in ended] == ["atexit"] * len(ended)
    assert not any("del packed" in lines for _, lines in ended)
