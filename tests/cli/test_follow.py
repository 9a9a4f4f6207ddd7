"""`gradlife hunt --follow`: a program is neither left behind nor ended without need."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

import gradlife
from gradlife.attach.client import Unanswered
from gradlife.attach.protocol import AttachError
from gradlife.cli import main
from gradlife.cli.parser import make_parser
from gradlife.cli.watching import follow
from gradlife.errors import UsageError
from gradlife.program.parent import Result
from processes import comes_true, ends

#: Runs until the file `enough` is there.
WAITING = """\
import os, time
with open("starting", "w") as file:
    file.write(str(os.getpid()))
os.rename("starting", "pid")
while not os.path.exists("enough"):
    time.sleep(0.001)
"""


def arguments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    """Return the command line of a hunt in a program that waits."""
    (folder / "program.py").write_text(WAITING)
    monkeypatch.chdir(folder)
    return make_parser("hunt").parse_args(["hunt", "--follow", "program.py"])


def test_the_program_ends_if_it_cannot_be_followed_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went on without anybody who waited for it."""

    def refuse(path: str, title: str) -> NoReturn:
        assert comes_true((tmp_path / "pid").exists)
        raise UsageError("no such function")

    monkeypatch.setattr(follow, "connect", refuse)
    with pytest.raises(UsageError, match="no such function"):
        follow.follow_program(arguments(tmp_path, monkeypatch), "program.py")
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_program_that_does_not_listen_yet_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making the socket and listening at it, the first try failed, and the hunt with it."""
    tries: list[str] = []

    def fail(path: str, title: str) -> NoReturn:
        tries.append(path)
        if len(tries) == 2:
            (tmp_path / "enough").touch()
        raise Unanswered("nothing answers")

    monkeypatch.setattr(follow, "connect", fail)
    result = follow.follow_program(arguments(tmp_path, monkeypatch), "program.py")
    assert (result, len(tries) >= 2) == (Result(0, None, was_killed=False), True)


def test_a_program_that_is_lost_sight_of_goes_on_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(path: str, title: str) -> NoReturn:
        (tmp_path / "enough").touch()
        raise AttachError("it closed the connection")

    monkeypatch.setattr(follow, "connect", lose)
    result = follow.follow_program(arguments(tmp_path, monkeypatch), "program.py")
    assert result == Result(0, None, was_killed=False)
    assert "it closed the connection; the program goes on, and is not watched" in capsys.readouterr().err
    assert (tmp_path / "pid").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prove"], "--follow has no --prove (try: gradlife hunt --prove, without --follow)"),
        (
            ["--nproc-per-node", "2"],
            "--follow has no --nproc-per-node (try: gradlife hunt --nproc-per-node, without --follow)",
        ),
        (["-i"], "--follow has no --interactive (try: gradlife hunt --interactive, without --follow)"),
        (["--lines"], "--follow has no --lines (try: gradlife hunt --lines, without --follow)"),
        (["--step-on", "step"], "'step' names no function (try: --step-on module:function, or __main__:function)"),
    ],
)
def test_what_a_watch_does_not_have_is_refused_before_the_program_starts(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(tmp_path, monkeypatch)
    assert main(["hunt", "--follow", *words, "program.py"]) == 2
    assert capsys.readouterr().err == f"gradlife: error: {said}\n"
    assert os.listdir(tmp_path) == ["program.py"]


def test_a_fix_of_several_ranks_is_refused_before_they_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was refused when all ranks had run to their end."""
    arguments(tmp_path, monkeypatch)
    assert main(["hunt", "--fix", "--nproc-per-node", "2", "program.py"]) == 2
    assert capsys.readouterr().err == (
        "gradlife: error: --fix is for one process, and this is a run of several (try: gradlife hunt SCRIPT)\n"
    )
    assert os.listdir(tmp_path) == ["program.py"]


def ignore(report: object) -> None:
    """Nothing is to be printed when the tests end."""


def test_each_loop_at_a_prompt_is_a_watch_of_its_own() -> None:
    """All are line 1 of `<stdin>`: the second loop was taken for the first, and was not watched."""
    loop = "made = watch(on_report=ignore, steps=40)"
    names: list[dict[str, Any]] = [{"watch": gradlife.watch, "ignore": ignore} for _ in range(2)]
    for one in names:
        exec(compile(loop, "<stdin>", "single"), one)
    assert names[0]["made"] is not names[1]["made"]


def test_a_loop_is_one_watch_however_often_it_begins() -> None:
    assert len({id(gradlife.watch(on_report=ignore, steps=40)) for _ in range(3)}) == 1


def test_options_of_the_two_kinds_of_watch_do_not_mix() -> None:
    with pytest.raises(UsageError, match=r"watch\(every=\.\.\.\) takes neither steps nor on_report"):
        gradlife.watch(every="1s", steps=40)
