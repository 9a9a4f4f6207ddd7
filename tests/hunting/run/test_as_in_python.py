"""A program that a command runs sees what it sees under `python`: names, paths, arguments, descriptors."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

#: Prints what differs easily.
SHOWS = """
import os, sys, threading
print(sys.argv, sys.orig_argv[1:], sys.path[0], __annotations__, __name__, __package__, __spec__ and __spec__.name)
print(__file__, [name for name in vars() if name.startswith("__")], sys._getframe().f_code.co_filename)
if "FOLLOWED" not in os.environ: print(os.dup(0), os.dup(0))
print([thread.name for thread in threading.enumerate()], os.getcwd())
kept: list[int] = []
print(__annotations__, __import__("helper").value)
"""
HELPER = "value = 5\n"

COMMANDS = {
    "hunt": ("hunt", "--json", os.devnull),
    "peak": ("peak", "--json", os.devnull),
    "follow": ("hunt", "--follow"),
    "snapshot": ("snapshot", "-o", os.devnull),
}

NAMES = ("./-dash.py", "../inner/train.py", "a::b.py", "package", "./package/", "train.pyz", "train.zip")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in ("train.py", "-dash.py", "a::b.py", "package/__main__.py"):
        path = inner / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SHOWS, encoding="utf-8")
        (path.parent / "helper.py").write_text(HELPER, encoding="utf-8")
    for name in ("train.pyz", "train.zip"):
        with zipfile.ZipFile(inner / name, "w") as archive:
            archive.writestr("__main__.py", SHOWS)
            archive.writestr("helper.py", HELPER)
    (inner / "empty").mkdir()
    return inner


def printed(folder: Path, *words: str) -> str:
    # a client comes at any moment, and has a low number until it is moved
    followed = {"FOLLOWED": "1"} if "--follow" in words else {}
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **followed}
    command = [sys.executable, *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def assert_same(folder: Path, command: str, *words: str) -> None:
    bare = printed(folder, *words)
    assert bare.count("\n") == 5
    under = printed(folder, "-m", "gradlife", *COMMANDS[command], *words)
    lines = [line for line in bare.splitlines() if command != "follow" or not line[0].isdigit()]
    assert under.splitlines()[: len(lines)] == lines


@pytest.mark.parametrize("command", COMMANDS)
def test_a_script_sees_what_it_sees_under_python(folder: Path, command: str) -> None:
    assert_same(folder, command, "./train.py", "one", "--two")


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_all_that_python_runs_runs_as_there(folder: Path, command: str, name: str) -> None:
    assert_same(folder, command, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_a_main_file_is_a_line(folder: Path, command: str) -> None:
    words = [sys.executable, "-m", "gradlife", *COMMANDS[command], "empty"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    words_said = "gradlife: error: empty has no __main__.py (try: the name of a Python script in it)\n"
    assert (done.returncode, done.stderr) == (2, words_said)
