"""Runs of several ranks that are refused before a rank starts."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gradlife.cli import main
from gradlife.errors import UsageError
from gradlife.ranks import launch


@pytest.mark.parametrize("command", ["hunt", "peak"])
def test_a_script_that_is_not_there_starts_no_rank(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.py"
    assert main([command, "--nproc-per-node", "2", str(missing)]) == 2
    assert capsys.readouterr().err == (
        f"gradlife: error: cannot read {missing}: no such file or directory (try: the name of a Python script)\n"
    )


def test_a_severity_that_is_unknown_is_answered_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", "--fail-on", "nothing", "train.py"]) == 2
    assert "(choose from 'critical', 'major', 'minor', 'note', 'leak', 'needs-gc')" in capsys.readouterr().err


@pytest.mark.parametrize("target", [["torchrun"], ["-m", "torch.distributed.run"]])
def test_a_launcher_is_not_started_in_each_rank(
    target: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "torchrun").write_text(f"#!{sys.executable}\n")
    (tmp_path / "torchrun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert main(["peak", "--nproc-per-node", "2", *target, "train.py"]) == 2
    name = " ".join(target)
    assert capsys.readouterr().err == (
        f"gradlife: error: {name} starts ranks itself: leave out --nproc-per-node of gradlife "
        f"(try: gradlife peak {name} ... SCRIPT)\n"
    )


@pytest.mark.parametrize("command", ["hunt", "peak"])
def test_the_programs_own_options_are_not_read_by_its_ranks(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks of a script whose package reads the command line took `--steps` for gradlife's."""
    script = tmp_path / "train.py"
    script.write_text("from package.app import main\nmain()\n")
    started: list[list[str]] = []

    def start(count: int, words: list[str], *others: object) -> None:
        started.append(words)
        raise UsageError("started")

    monkeypatch.setattr(importlib.import_module(f"gradlife.ranks.{command}"), "launch", start)
    main([command, "--nproc-per-node", "2", str(script), "--", "--steps", "1000"])
    main([command, "--nproc-per-node", "2", *started[0][started[0].index(str(script)) :]])
    assert [words[-4:] for words in started] == 2 * [[str(script), "--", "--steps", "1000"]]


@pytest.mark.parametrize("command", ["hunt", "peak"])
def test_a_run_needs_a_rank(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    assert main([command, "--nproc-per-node", "0", str(script)]) == 2
    words = f"argument --nproc-per-node: '0' is not a number of ranks (try: gradlife {command} --help)"
    assert capsys.readouterr().err == f"gradlife: error: {words}\n"


@pytest.mark.parametrize("time", ["nan", "-1", "soon", "inf"])
def test_ranks_are_waited_for_so_many_seconds(time: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `nan` they were waited for for ever."""
    assert main(["hunt", f"--rank-timeout={time}", str(tmp_path / "train.py")]) == 2
    assert f"argument --rank-timeout: '{time}' is not a number of seconds" in capsys.readouterr().err


def test_a_launcher_that_a_signal_kills_has_the_status_of_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The help says 137; it was 247."""
    killed = SimpleNamespace(Popen=lambda command, env: SimpleNamespace(returncode=-9))
    monkeypatch.setattr(launch, "subprocess", killed)
    monkeypatch.setattr(launch, "wait", lambda process, folder, patience: None)
    assert launch.run_in(str(tmp_path), 1, [], 0.0) == 137
