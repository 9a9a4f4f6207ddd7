"""Long output on a terminal, through a pager as git shows it: $PAGER, else less, which leaves short output on the screen."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from rich.console import Console

from gradlife.reports.theme import make_console

#: Options of less, unless $LESS has others: leave short output, keep colours, do not clear the screen.
LESS = "FRX"

#: The exit status of a shell that finds no such command.
NOT_FOUND = 127


def paged(show: Callable[[Console], object], stream: TextIO) -> None:
    """Print something through the pager if the stream is a terminal, else as it is."""
    console = make_console(stream)
    pager = pager_of(os.environ)
    if not stream.isatty() or not pager:
        show(console)
        return
    text = io.StringIO()
    show(make_console(text, console.width, color="NO_COLOR" not in os.environ))
    if not shown_by(pager, text.getvalue()):
        stream.write(text.getvalue())


def pager_of(environment: os._Environ[str]) -> str:
    """Return the command of the pager; empty if there is none."""
    pager = environment.get("PAGER")
    if pager is None:
        return "less" if shutil.which("less") else ""
    return "" if pager.strip() == "cat" else pager.strip()


def shown_by(pager: str, text: str) -> bool:
    """Show a text with the pager. Return whether there is such a command."""
    environment = {"LESS": LESS, **os.environ}
    process = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=environment)
    with suppress(BrokenPipeError):  # the reader has seen enough
        process.communicate(text.encode("utf-8", "replace"))
    while True:
        try:
            return process.wait() != NOT_FOUND
        except KeyboardInterrupt:  # Ctrl-C in less stops a search
            continue
