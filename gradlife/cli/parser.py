"""The commands by name, and the parser, which imports only the module of the command that is used."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from typing import Any, NoReturn

from gradlife._version import __version__
from gradlife.errors import UsageError

#: The purpose of each command, by task. A command's module has its name.
GROUPS = {
    "Find": {
        "hunt": "run a program, find what grows, and say who holds it",
        "peak": "record a few steps, and show what is held too long at the peak",
        "attach": "hunt in a running process, or save its heap",
        "merge": "merge the reports of ranks in a folder into one",
        "bisect": "find the commit, or the release of a library, that brought a leak",
    },
    "Look": {
        "snapshot": "run a script and save its heap to a file",
        "open": "show what a snapshot holds: objects, types, cycles",
        "why": "explain why an object of a snapshot is alive",
        "diff": "show what is new, gone and grown between two snapshots",
    },
    "Learn": {
        "explain": "explain a GLnnn code, or one story",
        "codes": "list the GLnnn codes with what each says",
        "list": "list the stories, with their fixed twins",
        "run": "run lifetime stories on several systems, and compare them",
        "history": "show when a story's readings changed between releases",
        "record": "record a system's readings in a file, to compare without it",
    },
    "Set up": {
        "doctor": "check this installation, and print what a bug report needs",
        "completion": "print the completion of commands and options for a shell",
        "man": "print the manual page",
        "env": "make, list and remove environments with other releases",
        "mcp": "serve hunts to coding assistants, by the Model Context Protocol",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}

#: What is printed without a command.
WELCOME = """\
gradlife says what keeps memory alive in a PyTorch program, and how to fix it.

  gradlife hunt train.py    memory grows: what grows, and who holds it
  gradlife peak train.py    it is too much at once: what is held too long
  gradlife attach PID       a process runs already: hunt in it
  gradlife explain GL402    a report shows a code: why that leaks, and its fix

gradlife help lists all commands.
"""

EPILOG = """\
gradlife help COMMAND describes a command. gradlife train.py hunts in a script.
Exit status: 0 clean, 1 found something, 2 usage error, 3 could not tell.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like every other error of gradlife. Its help leaves out rare options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rare: dict[argparse.Action, str] = {}  # options that only --help-all shows, and their help

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help")

    def hide(self, options: frozenset[str]) -> None:
        """Leave these options out of the help, and add `--help-all`, which shows them."""
        for action in self._actions:
            if options & {*action.option_strings}:
                self.rare[action], action.help = action.help or "", argparse.SUPPRESS
        if self.rare:
            words = f"show {len(self.rare)} rare options, too"
            self.add_argument("--help-all", action=HelpAll, nargs=0, default=argparse.SUPPRESS, help=words)

    def options(self) -> Iterator[tuple[argparse.Action, str]]:
        """Yield each option with its help, rare ones too."""
        for action in self._actions:
            if action.option_strings and not isinstance(action, HelpAll):
                yield action, expanded(action, self.rare.get(action, action.help or ""))

    def positionals(self) -> Iterator[tuple[argparse.Action, str]]:
        """Yield each positional argument with its help."""
        for action in self._actions:
            if not action.option_strings and action.help != argparse.SUPPRESS:
                yield action, expanded(action, action.help or "")


class HelpAll(argparse.Action):
    """Shows the help with all options."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Print the help and end."""
        assert isinstance(parser, Parser)
        for action, text in parser.rare.items():
            action.help = text
        parser.print_help()
        parser.exit()


class MainParser(Parser):
    """The parser of `gradlife` itself, whose help has the commands by task."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.chosen: Parser | None = None  # the parser of the command that has its arguments

    def format_help(self) -> str:
        """Return the help."""
        width = max(map(len, COMMANDS)) + 2
        parts = ["usage: gradlife COMMAND [OPTION ...]\n", "What keeps this object alive, and should it?\n"]
        for title, commands in GROUPS.items():
            rows = "".join(f"  {name.ljust(width)}{summary}\n" for name, summary in commands.items())
            parts.append(f"{title}\n{rows}")
        return "\n".join([*parts, EPILOG])


def make_parser(command: str | None) -> MainParser:
    """Make a parser that knows all commands by name, and the arguments of one."""
    parser = MainParser(prog="gradlife")
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
            module = command_module(name)
            module.add_arguments(subparser)
            subparser.hide(getattr(module, "RARE", frozenset()))
            subparser.usage = usage_of(subparser)
            parser.chosen = subparser
    return parser


def command_parser(command: str) -> Parser:
    """Return the parser of a command."""
    parser = make_parser(command).chosen
    assert parser is not None
    return parser


def usage_of(parser: Parser) -> str | None:
    """Return the usage of a command on one line; None, for argparse's, if it has commands of its own."""
    words = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return None
        name = name_of(action)
        if action.option_strings:
            words += [f"{action.option_strings[0]} {name}"] if action.required else []
        else:
            words.append(
                {"?": f"[{name}]", "*": f"[{name} ...]", argparse.PARSER: f"{name} ..."}.get(str(action.nargs), name)
            )
    return " ".join([parser.prog, "[OPTION ...]", *words])


def name_of(action: argparse.Action) -> str:
    """Return the name of an argument's value."""
    return action.metavar if isinstance(action.metavar, str) else action.dest.upper()


def expanded(action: argparse.Action, text: str) -> str:
    """Return a help text as it is shown: with the default, without doubled percent signs."""
    return text % {"default": action.default, "prog": "gradlife"}


def command_module(name: str) -> CommandModule:
    """Import a command's module."""
    module: CommandModule = importlib.import_module(f"gradlife.cli.{name}")  # type: ignore[assignment]
    return module


class CommandModule:
    """The interface of a command's module, for the type checker. ``RARE``, if it is there: options of `--help-all`."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    @staticmethod
    def run(args: argparse.Namespace) -> int:
        """Run the command and return the exit status."""
        raise NotImplementedError
