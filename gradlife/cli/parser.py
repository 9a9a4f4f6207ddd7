"""The commands by name, and the parser, which imports only the module of the command that is used."""

from __future__ import annotations

import argparse
import importlib
from typing import NoReturn

from gradlife._version import __version__
from gradlife.errors import UnknownNameError, UsageError

#: The purpose of each command. A command's module has its name.
COMMANDS = {
    "run": "run lifetime stories on several systems and compare their readings",
    "record": "record a system's readings in a file, for comparison without that system",
    "history": "show when a story's readings changed between releases",
    "list": "list the stories, with their fixed twins",
    "explain": "explain one story, or a GLnnn pattern",
    "env": "make, list and remove environments with other releases, to run stories on",
    "hunt": "run a program, find what grows, and say who holds it",
    "attach": "hunt in a running process, or save its heap",
    "peak": "record a few steps, and show what is held at the peak longer than it is used",
    "merge": "merge the reports of ranks in a folder into one",
    "snapshot": "run a script and save its heap at the end to a file",
    "open": "show a snapshot: the largest types, the objects that retain most, cycles",
    "why": "explain why an object of a snapshot is alive",
    "diff": "show what is new, gone and grown between two snapshots",
    "mcp": "serve hunts and explanations to coding assistants, over the Model Context Protocol",
    "doctor": "check this installation, and print what a bug report needs",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like every other error of gradlife."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help")


def dispatch(arguments: list[str]) -> int:
    """Parse the arguments, run the command, and return its exit status."""
    args = make_parser(command_of(arguments)).parse_args(arguments)
    if args.command is None:
        raise UsageError("no command given", "gradlife --help")
    return int(command_module(args.command).run(args))


def command_of(arguments: list[str]) -> str | None:
    """Return the command in the arguments: the first that is not an option."""
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        raise UnknownNameError("command", command, COMMANDS, hint="gradlife --help")
    return command


def make_parser(command: str | None) -> Parser:
    """Make a parser that knows all commands by name, and the arguments of one."""
    parser = Parser(
        prog="gradlife",
        description="What keeps this object alive, and should it? Lifetime stories, run on several engines.",
        epilog="Exit status: 0 clean, 1 found something, 2 usage error, 3 could not tell.",
    )
    parser.add_argument("--version", action="version", version=f"gradlife {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            command_module(name).add_arguments(subparser)
    return parser


def command_module(name: str) -> CommandModule:
    """Import a command's module."""
    module: CommandModule = importlib.import_module(f"gradlife.cli.{name}")  # type: ignore[assignment]
    return module


class CommandModule:
    """The interface of a command's module, for the type checker."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    @staticmethod
    def run(args: argparse.Namespace) -> int:
        """Run the command and return the exit status."""
        raise NotImplementedError
