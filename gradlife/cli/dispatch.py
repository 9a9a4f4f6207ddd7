"""From the words of a command line to the command that they mean, and its run."""

from __future__ import annotations

import argparse
import os
import shlex

from gradlife.cli.options.python_words import is_python
from gradlife.cli.parser import COMMANDS, WELCOME, MainParser, command_module, make_parser
from gradlife.errors import UnknownNameError, UsageError
from gradlife.output import OutputStream
from gradlife.overwriting import remedy_for


def dispatch(arguments: list[str]) -> int:
    """Parse the arguments, run the command, and return its exit status."""
    if not arguments:
        OutputStream().write(WELCOME)
        return 0
    arguments = with_command(arguments)
    parser = make_parser(command_of(arguments))
    args = parsed(parser, arguments)
    if args.command is None:
        raise UsageError("no command given", "gradlife help")
    return int(command_module(args.command).run(args))


def parsed(parser: MainParser, arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments of a command, with the options that the project sets. ``args.project`` has these."""
    if parser.chosen is None or arguments[1:2] in (["--help"], ["-h"], ["--help-all"]):
        return parser.parse_args(arguments)
    from gradlife.cli.project_options import read_project_options  # it imports a parser of TOML

    options = read_project_options(parser.chosen, arguments[0])
    try:
        args = options.parse(parser.chosen, parser, arguments)
    except UsageError as error:
        raise taken_script(arguments, error) from None
    args.project = options
    return args


def taken_script(arguments: list[str], error: UsageError) -> UsageError:
    """Return the error of a command line without a program; say so if an option took the script as its file."""
    *_, option, word = ["", *arguments]
    if not ("required: TARGET" in error.message and option.startswith("--") and os.path.isfile(script_in(word))):
        return error
    return UsageError(f"{option} took {word} as its file: no program is left", remedy_for(word, option))


def with_command(arguments: list[str]) -> list[str]:
    """Return the arguments with the command that they mean: a script is hunted in, `help X` is `X --help`."""
    first = arguments[0]
    if first == "help":
        return [*(word for word in arguments[1:] if word != "help"), "--help"]
    if first not in COMMANDS and (is_python(first) or os.path.isfile(script_in(first))):
        return ["hunt", *arguments]
    return arguments


def script_in(word: str) -> str:
    """Return the name of the Python file in a word such as train.py::step; empty if there is none."""
    path = word.partition("::")[0]
    return path if path.endswith(".py") else ""


def command_of(arguments: list[str]) -> str | None:
    """Return the command in the arguments: the first that is not an option."""
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is None or command in COMMANDS:
        return command
    if script_in(command):
        if not os.path.isfile(script_in(command)):
            raise UsageError(f"there is no file {script_in(command)}", "gradlife hunt SCRIPT")
        raise UsageError(f"{arguments[0]} stands before a command", f"gradlife hunt {shlex.join(arguments)}")
    raise UnknownNameError("command", command, COMMANDS, hint="gradlife help")
