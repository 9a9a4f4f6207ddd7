"""The list of known leaks of libraries for the terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from rich.console import Console
from rich.text import Text

from gradlife._version import __version__
from gradlife.patterns.known_leaks import KnownLeak
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import GOOD, QUIET, TITLE
from gradlife.reports.values import counted

#: The name of the format of `gradlife codes --known --json`.
FORMAT = "gradlife.known-leaks/1"

#: What is said for a row without bounds: neither the issue nor the library's history names a release.
NO_RELEASE = "no release is named"


def print_known_leaks(console: Console, leaks: Sequence[KnownLeak]) -> None:
    """Print the leaks by library: versions, issue and codes, what holds what, the advice, and how far it was checked."""
    for library, members in groupby(leaks, key=lambda leak: leak.library):
        console.print(Text(library, TITLE))
        for leak in members:
            facts = (leak.versions or NO_RELEASE, leak.link, " ".join(leak.codes))
            console.print(Hanging(Text("  "), Text("  ".join(facts))), end="")
            console.print(Hanging(Text("    "), Text(f"{sentence_of(leak.what)} {checked(leak)}")), end="")
            console.print(Hanging(Text("    do: "), Text(f"{leak.advice}.", GOOD)), end="")
        console.print()
    console.print(Text(f"{counted(len(leaks), 'known leak')}; a hunt names those that it can tell by the trace", QUIET))


def sentence_of(text: str) -> str:
    """Return a text that begins as a sentence and ends as one. Names of functions and types keep their letters."""
    first = text.split()[0]
    begins = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return f"{begins}."


def checked(leak: KnownLeak) -> str:
    """Say how far the leak was checked here."""
    if leak.story:
        return f"[recorded: {leak.story}]"
    return f"[run with {leak.ran}]" if leak.ran else "[read, not run]"


def known_leaks_text(leaks: Sequence[KnownLeak]) -> str:
    """Return the leaks as JSON: the columns of the table, and whether each was recorded, run or read."""
    rows = [asdict(leak) | {"verified": "recorded" if leak.story else "run" if leak.ran else "read"} for leak in leaks]
    return json.dumps({"format": FORMAT, "gradlife": __version__, "leaks": rows}, indent=1) + "\n"
