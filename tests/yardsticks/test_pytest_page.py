"""docs/pytest.md: its files are written, its commands run, and what it shows of them comes, in this order."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradlife.pytest_plugin.lifetimes import Lifetimes
from gradlife.pytest_plugin.settings import options
from gradlife.pytest_plugin.settings.marks import PARSERS
from plugin_suites import OTHERS
from sources import ROOT

PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", PAGE, re.DOTALL)

#: What the plugin calls to end a test, and what no test calls itself.
INTERNAL = {"conclude", "conclude_after", "close", "is_waiting"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    made: Path = tmp_path_factory.mktemp("page")
    for name, _, text in BLOCKS:
        if name:
            (made / name).write_text(text, encoding="utf-8")
    return made


def shown() -> Iterator[tuple[str, list[str]]]:
    """Commands, each with the parts of lines that the page shows below it."""
    for (_, language, text), (_, following, output) in itertools.pairwise(BLOCKS):
        if language == "sh" and following == "text":
            parts = [one_spaced(part) for line in output.splitlines() for part in line.split("...") if part.strip()]
            yield "; ".join(line.removeprefix("$ ") for line in text.splitlines()), parts


def one_spaced(text: str) -> str:
    """Without what aligns it: a table's columns are as wide as its noisiest row."""
    return " ".join(text.split())


COMMANDS = list(shown())


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.long
def test_commands_come_with_what_they_print(folder: Path) -> None:
    """In the page's order: a later command reads what an earlier one wrote."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    off = " ".join(f"-p no:{name}" for name in OTHERS)
    environment = {**os.environ, "PATH": path, "COLUMNS": "150", "PYTEST_ADDOPTS": off, "GITHUB_ACTIONS": ""}
    for command, parts in COMMANDS:
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=900
        )
        at, text = 0, one_spaced(done.stdout + done.stderr)
        for part in parts:
            found = text.find(part, at)
            assert found >= 0, f"{command}: {part!r} does not come\n{text}"
            at = found


def test_every_option_argument_and_method_is_reported() -> None:
    parser = pytest.Parser(_ispytest=True)
    options.add_options(parser)
    names = [option.names()[0] for group in parser._groups for option in group.options]
    seen = [name for name in (*names, *(f"`{name}=" for name in PARSERS)) if name not in PAGE]
    methods = {name for name, _ in inspect.getmembers(Lifetimes) if not name.startswith("_")} - INTERNAL
    assert seen == []
    assert [name for name in methods if f"`{name}(" not in PAGE] == []


def test_every_option_argument_and_method_has_an_example_that_runs() -> None:
    ran = "\n".join([*(text for name, _, text in BLOCKS if name), *(command for command, _ in COMMANDS)])
    wanted = ["--leaks=warn", "--leaks-repeat", "--leaks-cycles", "--leaks-baseline", "--leaks-update-baseline"]
    wanted += ["--leaks-report", "--gradlife-backend", *(f"{name}=" for name in PARSERS)]
    wanted += [f"lifetimes.{name}(" for name, _ in inspect.getmembers(Lifetimes) if not name.startswith("_")]
    missing = {word for word in wanted if word not in ran} - {f"lifetimes.{name}(" for name in INTERNAL}
    assert missing == set()
