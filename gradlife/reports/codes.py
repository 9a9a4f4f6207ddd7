"""The list of codes for the terminal: one line per code, by family."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from gradlife._version import __version__
from gradlife.patterns import family, sentence
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import QUIET, TITLE
from gradlife.reports.values import counted

#: The name of the format of `gradlife codes --json`.
FORMAT = "gradlife.codes/1"


def print_codes(console: Console, codes: Sequence[str]) -> None:
    """Print the codes with their sentences."""
    for digits, members in groupby(codes, key=lambda code: code[:3]):
        console.print(Text.assemble((f"{digits}xx  ", QUIET), (family(f"{digits}00")[0], TITLE)))
        for code in members:
            console.print(Hanging(Text(f"  {code}  "), Text(sentence(code))), end="")
        console.print()
    console.print(
        Text(f"{counted(len(codes), 'code')}; gradlife explain CODE shows the traces and the fix of one", QUIET)
    )


def codes_text(codes: Sequence[str]) -> str:
    """Return the codes as JSON."""
    rows = [{"code": code, "family": family(code)[0], "title": sentence(code)} for code in codes]
    return json.dumps({"format": FORMAT, "gradlife": __version__, "codes": rows}, indent=1) + "\n"
