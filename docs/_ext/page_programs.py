"""Pages whose Python blocks are one program: the output of each block is below it, as text or as a picture.

A `text` fence right below a block is its output. An image `../pictures/NAME.svg` right below it is its output, drawn by gradlife.
`make pictures` renews both, and a test compares them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PICTURES = DOCS / "pictures"

BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n|\n!\[(?P<title>[^\]]*)\]\([./]*pictures/(?P<name>[\w-]+)\.svg\)\n)?",
    re.DOTALL,
)

#: Runs the blocks in one namespace, one after the other, and writes what each printed.
RUNNER = """
import contextlib, io, json, sys
names, printed = {"__name__": "__main__"}, []

def unseen():
    from gradlife import _engine
    from gradlife.runner.worker.ownership import Drawing
    drawing = Drawing(_engine._live_graph(), {}, None)
    drawing.mark_visibility()
    return [edge[:3] for edge in drawing.edges if edge[-1]]

for number, code in enumerate(json.load(sys.stdin)):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, f"<block {number + 1}>", "exec"), names)
    printed.append([out.getvalue(), unseen() if "owners(" in code else []])
json.dump(printed, sys.stdout)
"""


@dataclass(frozen=True)
class Block:
    """A block of code, the output that the page shows, and what it printed now."""

    code: str
    shown: str | None
    picture: str | None
    title: str
    printed: str
    unseen: Sequence[tuple[int, int, str]] = ()  # references that the collector does not see: two objects and a label


class PageError(Exception):
    """A program of a page failed."""


def program_pages() -> list[Path]:
    """Find the pages whose blocks are programs."""
    return sorted((DOCS / "lifetimes").glob("*.md"))


def run_page(page: Path) -> list[Block]:
    """Run the blocks of a page in a process of their own."""
    found = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    codes = json.dumps([one["code"] for one in found])
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(command, input=codes, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise PageError(f"{page.name}: {done.stderr}")
    printed = json.loads(done.stdout)
    return [
        Block(one["code"], one["shown"], one["name"], one["title"] or "", text, [(*edge,) for edge in unseen])
        for one, (text, unseen) in zip(found, printed, strict=True)
    ]


def renewed(page: Path, blocks: list[Block]) -> str:
    """Return the page with the output that its blocks print now."""
    remaining = iter(blocks)

    def renew(found: re.Match[str]) -> str:
        block = next(remaining)
        if block.shown is None:
            return found[0]
        return f"```python\n{block.code}```\n\n```text\n{block.printed}```\n"

    return BLOCK.sub(renew, page.read_text(encoding="utf-8"))


def drawings(blocks: list[Block]) -> Iterator[tuple[Path, str]]:
    """Yield the file and the current drawing of each picture of a page."""
    from drawing_owners import drawn

    for block in blocks:
        if block.picture is not None:
            yield PICTURES / f"{block.picture}.svg", drawn(block.printed, block.title, block.unseen)
