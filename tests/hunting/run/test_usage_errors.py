"""A hunt of what is not there: one line with the remedy and status 2; a program's own failure keeps its traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from written import report_in

PROGRAM = """
import sys

def step():
    pass

def main():
    print("the program ran", sys.argv)

if __name__ == "__main__":
    main()
"""


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "wrong.py").write_text("def step(:\n", encoding="utf-8")
    (tmp_path / "failing.py").write_text(
        "def step():\n    pass\n\nraise ValueError('as it is loaded')\n", encoding="utf-8"
    )
    (tmp_path / "helper.py").write_text("def forward():\n    pass\n", encoding="utf-8")
    (tmp_path / "using.py").write_text("import helper\nhelper.forward()\n", encoding="utf-8")


def hunt(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", *words], capture_output=True, text=True, timeout=900, env=os.environ
    )
    return done.returncode, done.stdout, done.stderr


def one_error(*words: str) -> str:
    status, output, printed = hunt(*words)
    errors = report_in(printed)  # the program has begun where a module that it imports lacks the function
    assert (status, output, len(errors.splitlines())) == (2, "", 1), errors
    assert errors.startswith("gradlife: error: ")
    return errors.removeprefix("gradlife: error: ").rstrip()


def test_a_script_that_is_not_there() -> None:
    assert one_error("nothere.py") == (
        "cannot read nothere.py: no such file or directory (try: the name of a Python script)"
    )


def test_a_script_that_is_no_python() -> None:
    assert one_error("wrong.py").startswith("wrong.py is no Python script: invalid syntax")


def test_a_module_that_is_not_there() -> None:
    assert one_error("nomod:step") == "there is no module nomod (try: module:function)"


def test_a_function_that_a_file_lacks_has_its_nearest_ones() -> None:
    assert one_error("train.py::stp") == "unknown function 'stp' (try: step)"
    assert one_error("train.py::frobnicate") == "unknown function 'frobnicate' (try: a function of train.py)"


def test_a_step_that_names_no_function() -> None:
    assert one_error("--step-on", "step", "train.py").startswith("'step' names no function (try: --step-on ")
    assert one_error("--step-on", "__main__:walk", "train.py").startswith("train.py defines no function walk (try: ")


@pytest.mark.usefixtures("folder_on_path")
def test_a_step_on_a_function_that_an_imported_module_lacks() -> None:
    assert one_error("--step-on", "helper:forwart", "using.py") == "unknown function 'forwart' (try: forward)"


def test_a_file_that_fails_as_it_is_loaded_keeps_its_traceback() -> None:
    status, output, errors = hunt("failing.py::step")
    assert status == 1
    assert "the program ended with ValueError after 0 counted steps" in " ".join(output.split())
    assert errors.count("Traceback") == 1
    assert "ValueError: as it is loaded" in errors
    assert os.sep + "gradlife" + os.sep not in errors


def test_a_hunted_function_sees_its_own_arguments_only(tmp_path: Path) -> None:
    (tmp_path / "exiting.py").write_text("import sys\nprint(sys.argv)\nraise SystemExit(7)\n", encoding="utf-8")
    status, output, _ = hunt("exiting.py::step", "--rate", "3")
    assert (status, output.splitlines()[0]) == (7, "['exiting.py', '--rate', '3']")


@pytest.mark.parametrize("option", ["--json", "--markdown", "--html"])
def test_a_file_that_cannot_be_written_is_reported_before_the_program_runs(option: str) -> None:
    assert one_error(option, "no/such/folder/report", "train.py").startswith("cannot write no/such/folder/report: ")


@pytest.mark.usefixtures("folder_on_path")
def test_a_command_to_type_has_room_for_the_programs_arguments() -> None:
    _, _, errors = hunt("using.py", "--token", "secret")
    assert errors.endswith("Try: put the loop's body in F: gradlife hunt --step-on __main__:F using.py ...\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("train.ipynb", "is a notebook, no script (try: jupyter nbconvert --to script train.ipynb)"),
        (
            "before.json",
            "is a JSON file, no script (try: gradlife hunt --verify before.json after.json compares two reports)",
        ),
    ],
)
def test_a_notebook_and_a_report_are_refused_by_name(tmp_path: Path, name: str, words: str) -> None:
    """They were run as scripts, and ended with a NameError: null is no name of Python."""
    (tmp_path / name).write_text('{"cells": null}')
    assert one_error(name) == f"{name} {words}"
