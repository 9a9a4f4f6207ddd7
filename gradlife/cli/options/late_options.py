"""Options after the target of a command: do they belong to gradlife or to the program?

A function takes none, and a script that reads no command line ignores them: gradlife takes the options that it knows,
and says so. A script that reads its command line gets everything after its name.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
from collections.abc import Callable, Iterator

from gradlife.cli.options.python_words import is_python, read_python_words
from gradlife.cli.parser import Parser
from gradlife.output import say

#: Libraries that programs use to parse their command line.
READERS = re.compile(
    r"\b(argv|argparse|optparse|getopt|click|typer|fire|tyro|absl|hydra|docopt|plac|jsonargparse|configargparse"
    r"|simple_parsing|HfArgumentParser|LightningCLI|pydantic_settings|sacred|runpy)\b"
)


class TakeTarget(argparse.Action):
    """Takes a program and its own arguments. argparse would drop a ``--`` after the name of the program."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Keep the words as ``target`` and ``arguments``."""
        assert isinstance(values, list)
        words = values[1:] if values[0] == "--" else values
        if is_python(words[0]):
            command = read_python_words(words)
            namespace.python, words = command.options, [*command.program]
            namespace.is_module = namespace.is_module or command.is_module
        namespace.target, namespace.arguments = words[0], words[1:]


def add_target(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare the program with its own arguments. Options of Python before it are kept as ``python``."""
    parser.set_defaults(python=())
    parser.add_argument(
        "target", action=TakeTarget, nargs=argparse.PARSER, default=argparse.SUPPRESS, metavar="TARGET", help=text
    )


def own_words(args: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments of a program that gets all of them; a ``--`` before them is gradlife's."""
    return with_arguments(args, args.arguments[1:]) if args.arguments[:1] == ["--"] else args


def take_late_options(
    args: argparse.Namespace,
    add_options: Callable[[argparse.ArgumentParser], None],
    script: str | None,
    command: str = "hunt",
) -> argparse.Namespace:
    """Return the arguments with these options parsed; `args.arguments` keeps the program's. ``--`` ends gradlife's
    options. ``command``: the command's name in errors.
    """
    words: list[str] = args.arguments
    if words[:1] == ["--"]:
        return with_arguments(args, words[1:])
    parser = Parser(prog=f"gradlife {command}", add_help=False, allow_abbrev=False)
    add_options(parser)
    own = [word for word in words if word.partition("=")[0] in parser._option_string_actions]
    if not own:
        return args
    sources = "\n".join(texts(script)) if script is not None else ""
    if script is not None and READERS.search(sources):
        tell_of_lost([word for word in own if word.lstrip("-").partition("=")[0] not in sources], script)
        return args
    if script is not None:
        note(
            f"{' '.join(own)}: read as gradlife's, because {script} reads no command line; write -- before the program's own"
        )
    taken, rest = parser.parse_known_args(words, with_arguments(args, []))
    return with_arguments(taken, rest)


def with_arguments(args: argparse.Namespace, words: list[str]) -> argparse.Namespace:
    """Return the arguments with other arguments for the program."""
    return argparse.Namespace(**{**vars(args), "arguments": words})


def tell_of_lost(words: list[str], script: str) -> None:
    """Warn about gradlife's options that a script receives and does not seem to know. An installed command, such as
    ``.venv/bin/torchrun``, knows its own: its script only calls it.
    """
    if words and script.endswith(".py"):
        note(f"{' '.join(words)} is handed to {script}; gradlife's own options stand before the script")


def note(words: str) -> None:
    """Print a line to standard error."""
    say(f"gradlife: {words}")


def texts(script: str) -> Iterator[str]:
    """Yield the sources of a script and of the modules in its folder that it imports."""
    folder = os.path.dirname(os.path.abspath(script))
    waiting, seen = [script], {os.path.abspath(script)}
    while waiting:
        text = text_of(waiting.pop())
        yield text
        for name in imported(text):
            for path in (os.path.join(folder, f"{name}.py"), os.path.join(folder, name, "__init__.py")):
                if path not in seen and os.path.isfile(path):
                    seen.add(path)
                    waiting.append(path)


def text_of(path: str) -> str:
    """Return a file's source; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def imported(text: str) -> Iterator[str]:
    """Yield the top-level modules and packages that a source imports."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
