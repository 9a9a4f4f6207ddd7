"""Pages whose Python blocks are one program: what each block prints stands below it, or is drawn below it.

A fence `text` right below a block has what the block prints. An image of `../pictures/NAME.svg` right below it is its output as
a picture, made by gradlife. Both are renewed by `make pictures` and compared by a test.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PICTURES = DOCS / "pictures"

BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n|\n!\[(?P<title>[^\]]*)\]\([./]*pictures/(?P<name>[\w-]+)\.svg\)\n)?",
    re.DOTALL,
)

#: Runs the blocks one after the other in one namespace, and tells what each printed.
RUNNER = """
import contextlib, io, json, sys
names, printed = {"__name__": "__main__"}, []
for number, code in enumerate(json.load(sys.stdin)):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, f"<block {number + 1}>", "exec"), names)
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


@dataclass(frozen=True)
class Block:
    """A block of code, what the page shows of it, and what it printed just now."""

    code: str
    shown: str | None
    picture: str | None
    title: str
    printed: str


class PageError(Exception):
    """A program of a page failed."""


def program_pages() -> list[Path]:
    """The pages whose blocks are programs."""
    return sorted((DOCS / "lifetimes").glob("*.md"))


def run_page(page: Path) -> list[Block]:
    """Run the blocks of a page in a process of their own."""
    found = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    codes = json.dumps([one["code"] for one in found])
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(command, input=codes, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise PageError(f"{page.name}: {done.stderr}")
    printed = json.loads(done.stdout)
    return [
        Block(one["code"], one["shown"], one["name"], one["title"] or "", text)
        for one, text in zip(found, printed, strict=True)
    ]


def renewed(page: Path, blocks: list[Block]) -> str:
    """The page's text with what its blocks print now."""
    told = iter(blocks)

    def renew(found: re.Match[str]) -> str:
        block = next(told)
        if block.shown is None:
            return found[0]
        return f"```python\n{block.code}```\n\n```text\n{block.printed}```\n"

    return BLOCK.sub(renew, page.read_text(encoding="utf-8"))


def drawings(blocks: list[Block]) -> Iterator[tuple[Path, str]]:
    """Each picture of a page: its file, and the picture as it is now."""
    from drawing_owners import drawn

    for block in blocks:
        if block.picture is not None:
            yield PICTURES / f"{block.picture}.svg", drawn(block.printed, block.title)
