"""`gradlife man`: the manual page, generated from the parser."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from gradlife._version import __version__
from gradlife.cli.parser import COMMANDS, GROUPS, WELCOME, Parser, command_parser, name_of, usage_of
from gradlife.output import OutputStream

EPILOG = """\
On a terminal the page is shown; elsewhere its source is printed:
gradlife man > ~/.local/share/man/man1/gradlife.1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Show or print the page."""
    page = manual()
    if sys.stdout.isatty() and shutil.which("man"):
        subprocess.run(["man", "-l", "-"], input=page.encode(), check=False)
    else:
        OutputStream().write(page)
    return 0


def manual() -> str:
    """Return the page in the language of man."""
    parts = [
        f'.TH GRADLIFE 1 "" "gradlife {__version__}" "User Commands"\n',
        section("NAME", escaped("gradlife - find what keeps memory alive in PyTorch programs")),
        section("SYNOPSIS", ".B gradlife\nCOMMAND [OPTION ...]"),
        section("DESCRIPTION", f".nf\n{escaped(WELCOME.strip())}\n.fi"),
    ]
    for title, commands in GROUPS.items():
        rows = "\n".join(f".TP\n.B {name}\n{escaped(summary)}" for name, summary in commands.items())
        parts.append(section(f"COMMANDS: {title.upper()}", rows))
    parts += [command_section(name, command_parser(name)) for name in COMMANDS]
    status = "0 clean, 1 found something, 2 usage error, 3 could not tell"
    return "".join([*parts, section("EXIT STATUS", escaped(status))])


def command_section(name: str, parser: Parser) -> str:
    """Return the section of one command."""
    lines = [escaped(parser.description or "")]
    usage = usage_of(parser)
    lines += [f".PP\n.B {escaped(usage)}"] if usage else []
    for action, text in [*parser.positionals(), *parser.options()]:
        value = "" if action.nargs == 0 else f" {name_of(action)}"
        term = f"{', '.join(action.option_strings)}{value}".strip()
        lines.append(f".TP\n.B {escaped(term)}\n{escaped(text)}")
    if parser.epilog:
        lines.append(f".PP\n.nf\n{escaped(parser.epilog.strip())}\n.fi")
    return section(f"GRADLIFE {name.upper()}", "\n".join(lines))


def section(title: str, text: str) -> str:
    """Return a section with its heading."""
    return f'.SH "{title}"\n{text}\n'


def escaped(text: str) -> str:
    """Escape what the language would read as a request or a dash of its own."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
