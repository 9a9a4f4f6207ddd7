"""Options after what `gradlife hunt` runs: a program's own where it reads a command line, else gradlife's."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gradlife.cli.hunt import add_options, is_script
from gradlife.cli.options.late_options import own_words, take_late_options
from gradlife.cli.parser import Parser, make_parser
from gradlife.errors import UsageError


def taken(target: str, *words: str) -> argparse.Namespace:
    parser = Parser(prog="gradlife hunt")
    add_options(parser)
    args = parser.parse_args(["--fail-on", "needs-gc"])
    args.target, args.arguments = target, list(words)
    return take_late_options(args, add_options, target if is_script(target) else None)


@pytest.mark.parametrize("target", ["train.py::step", "package.module:step", "after.json"])
def test_options_after_a_function_or_a_report_are_gradlifes(target: str) -> None:
    args = taken(target, "--steps", "60", "rest", "--json", "out.json", "--rate=3")
    assert (args.steps, args.json, args.fail_on) == (60, "out.json", "needs-gc")
    assert args.arguments == ["rest", "--rate=3"]


def test_a_script_that_reads_no_command_line_leaves_them_to_gradlife(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\nsteps = 100\n", encoding="utf-8")
    args = taken(str(script), "--steps=60", "--json", "-")
    assert (args.steps, args.json, args.arguments) == (60, "-", [])
    said = capsys.readouterr().err
    assert said.startswith(f"gradlife: --steps=60 --json: read as gradlife's, because {script} reads no command line")


def test_a_script_that_reads_its_command_line_keeps_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text("import argparse\nparser.add_argument('--steps')\n", encoding="utf-8")
    args = taken(str(script), "--steps", "60")
    assert (args.steps, args.arguments) == (None, ["--steps", "60"])
    assert capsys.readouterr().err == ""
    args = taken(str(script), "--json", "out.json")
    assert (args.json, args.arguments) == (None, ["--json", "out.json"])
    assert capsys.readouterr().err == (
        f"gradlife: --json is handed to {script}; gradlife's own options stand before the script\n"
    )


def test_nothing_is_said_of_the_options_of_an_installed_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`gradlife hunt .venv/bin/torchrun --nproc-per-node 2 train.py` warned of an option that torchrun has."""
    command = tmp_path / "torchrun"
    command.write_text(
        "import sys\nfrom torch.distributed.run import main\nsys.exit(main(sys.argv))\n", encoding="utf-8"
    )
    assert taken(str(command), "--nproc-per-node", "2").arguments == ["--nproc-per-node", "2"]
    assert capsys.readouterr().err == ""


def test_modules_beside_a_script_may_read_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from lib.options import read\nread()\n", encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("import settings\n", encoding="utf-8")
    (tmp_path / "settings.py").write_text("import sys\nprint(sys.argv)\n", encoding="utf-8")
    assert taken(str(tmp_path / "train.py"), "--steps", "60").steps is None


def test_two_dashes_hand_everything_on(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("", encoding="utf-8")
    args = taken(str(script), "--", "--steps", "60")
    assert (args.steps, args.arguments) == (None, ["--steps", "60"])


@pytest.mark.parametrize("command", ["hunt", "peak"])
def test_two_dashes_after_the_program_reach_gradlife(command: str) -> None:
    """argparse dropped them, so that the options after them were taken for gradlife's."""
    parse = make_parser(command).parse_args
    args = parse([command, "--steps", "9", "train.py", "--", "--steps", "60", "--", "x"])
    assert (args.steps, args.target, args.arguments) == (9, "train.py", ["--", "--steps", "60", "--", "x"])
    args = parse([command, "-m", "train", "--", "--steps", "60"])
    assert (args.is_module, args.target, own_words(args).arguments) == (True, "train", ["--steps", "60"])
    assert parse([command, "--", "train.py", "x"]).arguments == ["x"]


def test_an_error_names_the_command() -> None:
    with pytest.raises(UsageError, match="gradlife peak --help"):
        take_late_options(argparse.Namespace(arguments=["--steps", "many"]), add_options, None, "peak")


def test_a_wrong_late_option_is_one_line() -> None:
    with pytest.raises(UsageError, match="'many' is not a number of steps"):
        taken("train.py::step", "--steps", "many")


def test_words_that_gradlife_does_not_know_are_the_programs_own(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("", encoding="utf-8")
    assert taken(str(script), "data", "--lr", "0.1", "--step", "3").arguments == ["data", "--lr", "0.1", "--step", "3"]
