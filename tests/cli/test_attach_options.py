"""`gradlife attach` refuses an option that would do nothing, before it attaches."""

from __future__ import annotations

import pytest

from gradlife.cli import main
from gradlife.cli.options.attach_tasks import OPTIONS, TASKS, name_of
from gradlife.cli.parser import make_parser

PID = "999999999"  # no process


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--why", "Tensor", "--json", "a.json"], "--why has no --json (try: without --json)"),
        (["--snapshot", "a", "--steps", "9"], "--snapshot has no --steps (try: without --steps)"),
        (["--snapshot", "a", "--for", "9s"], "--snapshot has no --for (try: without --for)"),
        (["-i", "--follow"], "--interactive has no --follow (try: without --follow)"),
        (["--peak", "--junit", "a.xml"], "--peak has no --junit (try: without --junit)"),
        (["--peak", "--fail-on", "leak"], "--peak has no --fail-on (try: without --fail-on)"),
        (["--why", "Tensor", "--snapshot", "a"], "--snapshot and --why are two tasks (try: one of them)"),
    ],
)
def test_an_option_that_a_task_does_not_have_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attach", PID, *words]) == 2
    assert capsys.readouterr().err == f"gradlife: error: {said}\n"


def test_a_folder_to_import_from_is_refused_with_a_socket(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "--socket", "door", "--inject", "folder"]) == 2
    assert capsys.readouterr().err == (
        "gradlife: error: --inject is for a process without a socket (try: without --inject)\n"
    )


@pytest.mark.parametrize(
    "words", [["--peak", "--for", "9s", "--step-on", "a:b", "--json", "-"], ["--follow", "--full"]]
)
def test_an_option_that_a_task_has_is_not_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", PID, *words]) == 2
    assert f"there is no process {PID}" in capsys.readouterr().err


def test_every_option_of_attach_is_known_to_the_table() -> None:
    """A new one must be refused, too, where it does nothing."""
    args = vars(make_parser("attach").parse_args(["attach", PID]))
    others = {"command", "pid", "socket", "inject", "every", "findings", "state", "metrics"}  # these need --follow
    others.add("force")
    assert {name for name in args if name not in others} == {*OPTIONS, *TASKS}
    assert {name: args[name] for name in OPTIONS} == OPTIONS
    assert name_of("fail_on") == "--fail-on"
