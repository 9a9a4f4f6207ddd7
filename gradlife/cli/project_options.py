"""Options that a team sets once, in a table of its pyproject.toml: `[tool.gradlife.hunt]` with `fail-on = "minor"`."""

from __future__ import annotations

import argparse
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradlife.cli.parser import COMMANDS, Parser
from gradlife.errors import UnknownNameError, UsageError, shortened
from gradlife.ranks.run_folder import VARIABLE

FILE = "pyproject.toml"

#: Options that are for one call only: each of them may destroy something.
NOT_HERE = frozenset({"help", "force", "write"})


@dataclass(frozen=True)
class ProjectOptions:
    """The options of one command that a file sets, by the names of their attributes."""

    file: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)  # as they are typed: fail-on = minor

    def parse(self, parser: Parser, whole: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
        """Parse the arguments with ``whole``. What they have replaces what the file sets, lists too."""
        lists = {name: value for name, value in self.values.items() if isinstance(value, list)}
        parser.set_defaults(**{name: value for name, value in self.values.items() if name not in lists})
        args = whole.parse_args(arguments)
        for name, value in lists.items():
            if not getattr(args, name):
                setattr(args, name, value)
        return args

    def note(self, args: argparse.Namespace) -> str:
        """Say which options are from the file, for a report; empty if there are none."""
        used = [self.typed[name] for name in self.values if getattr(args, name, None) is self.values[name]]
        return f"Options from {self.file}: {', '.join(used)}" if used else ""


def read_project_options(parser: Parser, command: str) -> ProjectOptions:
    """Return what the nearest file with a table of gradlife sets for a command; nothing in a rank, whose launcher has it."""
    if os.environ.get(VARIABLE):
        return ProjectOptions()
    file, tables = nearest_tables(Path.cwd())
    for name in tables:
        if name not in COMMANDS:
            raise UnknownNameError(
                f"table [tool.gradlife.NAME] of {file}:", name, COMMANDS, f"one of {', '.join(COMMANDS)}"
            )
        if not isinstance(tables[name], dict):
            raise UsageError(f"{file}: tool.gradlife.{name} is no table", f"[tool.gradlife.{name}]")
    options = {
        word.removeprefix("--"): action
        for action, _ in parser.options()
        for word in action.option_strings
        if word.startswith("--") and word.removeprefix("--") not in NOT_HERE
    }
    values, typed = {}, {}
    for key, value in tables.get(command, {}).items():
        if key not in options:
            raise UnknownNameError(
                f"option in [tool.gradlife.{command}] of {file}:", key, options, f"gradlife {command} --help"
            )
        where = f"{file}: [tool.gradlife.{command}] {key}"
        values[options[key].dest] = value_of(options[key], value, where)
        typed[options[key].dest] = f"{key} = {str(value).lower() if isinstance(value, bool) else value}"
    return ProjectOptions(file, values, typed)


def nearest_tables(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the nearest file with tables of gradlife, from a folder upwards, and these tables."""
    for place in (folder, *folder.parents):
        file = place / FILE
        if file.is_file():
            tables = tables_in(file, os.path.relpath(file, folder))
            if tables:
                return os.path.relpath(file, folder), tables
    return "", {}


def tables_in(file: Path, name: str) -> dict[str, Any]:
    """Return the tables of gradlife in a file; none if it is about other tools only, even if it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
        found = tomllib.loads(text).get("tool", {}).get("gradlife", {})
    except (OSError, UnicodeDecodeError):
        return {}
    except tomllib.TOMLDecodeError as error:
        if "tool.gradlife" not in text:
            return {}
        raise UsageError(f"{name} is no TOML: {error}", "mend the file") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name}: tool.gradlife is no table", "[tool.gradlife.hunt]")
    return found


def value_of(action: argparse.Action, value: object, where: str) -> object:
    """Return the value of an option as the command line would make it. Raises UsageError for a wrong one."""
    shown = shortened(repr(value))
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{where} = {shown}: it is true or false", f"{where.rpartition(' ')[2]} = true")
        return action.const if value else action.default
    if action.nargs in ("+", "*"):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise UsageError(f"{where} = {shown}: it is a list of texts", f'{where.rpartition(" ")[2]} = ["..."]')
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where} = {shown}: it is a text or a number", "gradlife help for its values")
    try:
        made = action.type(str(value)) if callable(action.type) else str(value)
    except (argparse.ArgumentTypeError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}", "another value") from None
    if action.choices is not None and made not in action.choices:
        raise UsageError(f"{where} = {shown} is no choice", " or ".join(map(str, action.choices)))
    return made
