"""Check which PyTorch bugs reported in docs/upstream/ still exist. Run with `make upstream`.

Each page has one program. It runs in a separate process on the installed PyTorch and prints `stands` or `mended`; if a
signal ends it, the bug stands. Exit status 0 if every program gave an answer.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "upstream"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATIENCE = 900  # seconds: for hangs only


@dataclass(frozen=True)
class Answer:
    """The verdict on one page, `unclear` if its program gave none, and how the program ended."""

    page: str
    verdict: str
    ending: str

    @property
    def line(self) -> str:
        return f"  {self.page:<26}  {self.verdict:<7} {self.ending}"


def program_of(page: Path) -> str:
    """Return the program of a page: its first Python block."""
    found = PROGRAM.search(page.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{page}: no block of Python")
    return found[1]


def ask(page: Path) -> Answer:
    """Run a page's program. Cost: a process that imports torch, a few seconds."""
    done = subprocess.run(
        [sys.executable, "-c", program_of(page)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode < 0:
        return Answer(page.stem, "stands", f"ended by {signal.Signals(-done.returncode).name}")
    said = (done.stdout.split() or [""])[-1]
    is_clear = done.returncode == 0 and said in ("stands", "mended")
    return Answer(page.stem, said if is_clear else "unclear", f"exit status {done.returncode}")


def pages() -> list[Path]:
    """Return the reports, without their index."""
    return [page for page in sorted(PAGES.glob("*.md")) if page.stem != "index"]


def main() -> int:
    answers = []
    print(f"torch {version('torch')}")
    for page in pages():
        answers.append(ask(page))
        print(answers[-1].line, flush=True)
    print(f"{sum(answer.verdict == 'stands' for answer in answers)} of {len(answers)} stand")
    return 1 if any(answer.verdict == "unclear" for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
