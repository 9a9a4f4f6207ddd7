"""Stories for tests of the command line, run on the fake framework: nothing needs torch or the engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.cli import main

STORIES = '''
"""Two stories of tensors."""

import sys

from gradlife.scenario import Expect, scenario


@scenario(
    title="a tensor is dropped",
    pattern="GL101",
    expects=[
        Expect("x", "never", on="fake-leaky", because="this framework keeps every tensor"),
        Expect("x", "del", because="nobody else holds it"),
    ],
)
def tensor_dropped(lab):
    """The only name of a tensor goes.

    Fix: nothing to fix.
    """
    x = lab.tensor()
    lab.watch("x", x)
    lab.stage("made")
    del x
    lab.stage("dropped", all_names_gone=True)


@tensor_dropped.fixed(title="a tensor is never made", fix="make none", expects=[Expect("x", "none", probe="value")])
def tensor_not_made(lab):
    """No tensor, no leak."""
    lab.value("x", "none")
    lab.stage("done")


@scenario(title="a size is read", expects=[Expect("size", 4, probe="value")])
def size_read(lab):
    """The size of a tensor."""
    print("noise on stdout")
    lab.value("size", lab.tensor().size)
    lab.stage("read")
'''

BROKEN = '''
import os

from gradlife.scenario import Expect, scenario


@scenario(title="a wrong declaration", expects=[Expect("x", 1, probe="value", because="so it is said")])
def wrong(lab):
    """One plus one."""
    lab.value("x", 2)
    lab.stage("counted")


@scenario(title="a crash")
def crash(lab):
    """The process dies."""
    os.abort()


@scenario(title="not for this framework", needs="hooks")
def not_here(lab):
    """Needs what the fake framework lacks."""


@scenario(title="never ends")
def hang(lab):
    """It hangs, and a file says when that begins."""
    open(os.environ.get("HANG_BEGINS", os.devnull), "w").close()
    while True:
        pass
'''


@pytest.fixture
def stories(tmp_path: Path) -> str:
    """A file of stories that go well."""
    folder = tmp_path / "shop"
    folder.mkdir()
    file = folder / "stories.py"
    file.write_text(STORIES, encoding="utf-8")
    return str(file)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A file of stories that do not."""
    file = tmp_path / "broken.py"
    file.write_text(BROKEN, encoding="utf-8")
    return str(file)


Outcome = tuple[int, str, str]


@pytest.fixture
def gradlife(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command in this process: exit status, standard output, standard error."""

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        status = main(arguments)
        output, errors = capfd.readouterr()
        return status, output, errors

    return run


#: Time limits for stories where one hangs. The next limit is tried if the machine was too slow for the one before.
LIMITS = ("0.5", "5", "50", "500")


@pytest.fixture
def run_broken(gradlife: Callable[..., Outcome], broken: str) -> Callable[..., tuple[str, Outcome]]:
    """Runs the stories that do not go well, in a time limit in which all but the endless one come to their ends."""

    def run(*options: str) -> tuple[str, Outcome]:
        for limit in LIMITS:
            outcome = gradlife("run", broken, "--backend", "fake", "--time-limit", limit, *options)
            if "killed by SIGABRT" in outcome[1] and "declared 1, got 2" in outcome[1]:
                break
        return limit, outcome

    return run


def process(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "gradlife", *arguments]
    return subprocess.Popen(command, text=True, **options)  # type: ignore[call-overload,no-any-return]
