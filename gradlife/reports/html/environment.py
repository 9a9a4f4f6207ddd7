"""The template environment. Values are escaped, unless gradlife itself wrote them as markup."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gradlife._version import __version__
from gradlife.reports.html.filters import FILTERS
from gradlife.reports.visible_report import visible_report

FOLDER = Path(__file__).parent / "templates"

#: Characters that could end a block of JSON in a page or start another one, and two line ends that only JavaScript has.
UNSAFE_IN_SCRIPTS = "<>&\u2028\u2029"


@cache
def environment() -> Environment:
    """Return the environment: it escapes all values, and an undefined name is an error."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(asset=asset, embedded=embedded, version=__version__)
    made.filters.update(FILTERS)
    return made


def asset(name: str) -> Markup:
    """Return a style sheet or script of gradlife, to be inlined in the page."""
    return Markup((FOLDER / name).read_text("utf-8"))


def embedded(identifier: str, data: object) -> Markup:
    """Return plain values as a block of JSON for the page's scripts, by id. No text in them can end the block."""
    text = json.dumps(
        visible_report(data, is_one_line=False), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    for character in UNSAFE_IN_SCRIPTS:  # several times faster than `str.translate`
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup('<script type="application/json" id="{}">').format(identifier) + Markup(text + "</script>")
