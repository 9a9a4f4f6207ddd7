from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.environments.records import Environment, write_record
from interpreters import TORCH, make_environment

Gradlife = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADLIFE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "environments"


@pytest.fixture
def old(home: Path) -> Environment:
    """A registered environment, made without pip."""
    make_environment(home / "old", torch=TORCH)
    record = Environment("old", sys.executable, ("torch==1.1.0",), "3.7.16", "torch", "1.1.0")
    write_record(record)
    return record


def test_without_environments_the_list_says_how_one_is_made(gradlife: Gradlife) -> None:
    status, output, errors = gradlife("env", "list")
    assert (status, errors) == (0, "")
    assert output == "no environment; gradlife env add NAME --python PATH torch==VERSION makes one\n"


def test_the_list_has_name_python_framework_size_and_path(gradlife: Gradlife, old: Environment) -> None:
    write_record(Environment("old", old.base, old.packages, old.python, old.framework, old.version))
    status, output, _ = gradlife("env", "list")
    assert status == 0
    assert output.startswith("old  Python 3.7.16  torch 1.1.0  ")
    assert "B" in output


def test_the_list_as_json(gradlife: Gradlife, old: Environment, tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    assert gradlife("env", "list", "--json", str(file))[0] == 0
    document = json.loads(file.read_text(encoding="utf-8"))
    (environment,) = document["environments"]
    assert document["format"] == "gradlife.environments/1"
    assert (environment["name"], environment["version"], environment["is_ready"]) == ("old", "1.1.0", True)
    assert gradlife("env", "list", "--json", "-")[1] == file.read_text(encoding="utf-8")


def test_a_registered_environment_is_a_system_by_its_name(gradlife: Gradlife, old: Environment, stories: str) -> None:
    status, output, _ = gradlife("run", stories, "--backend", "torch@old")
    assert status == 0
    assert "[1] torch@old  torch 1.1.0" in output
    assert gradlife("run", stories, "--backend", "torch@olt")[2].endswith("unknown environment 'olt' (try: old)\n")


def test_a_removed_environment_is_gone(gradlife: Gradlife, old: Environment, home: Path) -> None:
    assert gradlife("env", "remove", "old") == (0, "old is removed\n", "")
    assert list(home.iterdir()) == []
    status, output, errors = gradlife("env", "remove", "old")
    assert (status, output) == (2, "")
    assert errors == "gradlife: error: unknown environment 'old' (try: gradlife env list)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "gradlife env needs a subcommand (try: gradlife env add, list or remove)"),
        (
            ("ad",),
            "argument ACTION: invalid choice: 'ad' (choose from 'add', 'list', 'remove') (try: gradlife env --help)",
        ),
        (("add",), "the following arguments are required: NAME, PACKAGE (try: gradlife env add --help)"),
        (("add", "a"), "the following arguments are required: PACKAGE (try: gradlife env add --help)"),
        (
            ("add", "a/b", "torch"),
            "'a/b' is not a valid name for an environment "
            "(try: letters, digits and . _ + - after a letter or a digit, at most 64)",
        ),
        (
            ("add", "a", "--python", "no-such-python", "torch"),
            "there is no command 'no-such-python' (try: the path of a Python interpreter: --python PATH)",
        ),
    ],
)
def test_a_wrong_command_is_one_line(gradlife: Gradlife, words: tuple[str, ...], message: str) -> None:
    status, output, errors = gradlife("env", *words)
    assert (status, output) == (2, "")
    assert errors.replace("choose from add, list, remove", "choose from 'add', 'list', 'remove'") == (
        f"gradlife: error: {message}\n"
    )


def test_an_interpreter_that_is_too_old_is_one_line(gradlife: Gradlife, tmp_path: Path) -> None:
    from interpreters import old_python

    path = old_python(6)
    status, _, errors = gradlife("env", "add", "a", "--python", path, "torch==1.1.0")
    assert status == 2
    assert errors.startswith(f"gradlife: error: {path} is Python 3.6.")
    assert len(errors.splitlines()) == 1
