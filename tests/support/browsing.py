"""Pages in a real browser: opened from a file, watched for errors and for requests, judged by axe."""

from __future__ import annotations

import importlib.resources
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import HANGS

WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: What axe calls minor or moderate is a matter of taste here.
GRAVE = ("serious", "critical")


def chromium_program() -> str | None:
    """Find Chromium on this machine."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


#: Waits for it: a page may be loaded before it is painted.
FIRST_PAINT = """() => new Promise((tell) => new PerformanceObserver((seen) => {
  const [paint] = seen.getEntriesByName('first-contentful-paint');
  if (paint) tell(paint.startTime);
}).observe({ type: 'paint', buffered: true }))"""


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium_program(), args=["--no-sandbox"], timeout=1000 * HANGS
        )
        try:
            yield started
        finally:
            started.close()


@dataclass
class Visit:
    """One page opened once, and what it did that no page should."""

    page: Any
    address: str
    faults: list[str] = field(default_factory=list)  # errors in the console, exceptions, requests that leave the page

    def watch(self) -> None:
        """Listen from before the page is loaded."""
        self.page.on("console", lambda said: self._fault(said.type == "error", f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self._fault(True, f"exception: {error}"))
        self.page.on("request", lambda asked: self._fault(leaves(asked.url, self.address), f"request: {asked.url}"))

    def _fault(self, is_one: bool, text: str) -> None:
        if is_one:
            self.faults.append(text)

    def violations(self) -> list[str]:
        """Return the serious violations that axe finds, contrast among them: rule, colours, place."""
        self.page.evaluate(axe_source())
        found = self.page.evaluate("axe.run()")["violations"]
        grave = [one for one in found if one["impact"] in GRAVE]
        return [f"{one['id']}: {node['html'][:120]} {node['failureSummary']}" for one in grave for node in one["nodes"]]

    def overhang(self) -> int:
        """Pixels by which the page is wider than its window: then it scrolls sideways."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(script))

    def first_paint(self) -> float:
        """Milliseconds from the start of loading to the first contentful paint."""
        return float(self.page.evaluate(FIRST_PAINT))


def leaves(url: str, address: str) -> bool:
    """Whether this requests something outside the page's own file."""
    return url.partition("#")[0] != address and not url.startswith(("data:", "about:"))


def axe_source() -> str:
    """The checker that runs within the page."""
    return (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


class Visitor:
    """Opens pages, and knows in the end whether one of them misbehaved."""

    def __init__(self, started: Any, folder: Path) -> None:
        self._browser = started
        self._folder = folder
        self._contexts: list[Any] = []
        self.visits: list[Visit] = []

    def open(self, page: str | Path, width: int = 1280, scheme: str = "light", height: int = 900) -> Visit:
        """Open a page, given as its text or as its file, in a window of this size and scheme."""
        path = page if isinstance(page, Path) else self._kept(page)
        context = self._browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_default_timeout(1000 * HANGS)
        self._contexts.append(context)
        visit = Visit(context.new_page(), path.resolve().as_uri())
        visit.watch()
        self.visits.append(visit)
        visit.page.goto(visit.address)
        return visit

    def look(self, page: str | Path) -> list[str]:
        """Open a page at each width in each scheme; what axe, the console and the width complain of."""
        path = page if isinstance(page, Path) else self._kept(page)
        complaints = []
        for width in WIDTHS:
            for scheme in SCHEMES:
                visit = self.open(path, width, scheme)
                found = [*visit.faults, *visit.violations()]
                found += [f"{visit.overhang()} pixels too wide"] if visit.overhang() > 0 else []
                complaints += [f"at {width} in {scheme}: {complaint}" for complaint in found]
        return complaints

    def close(self) -> list[str]:
        """Close every page; the faults of all of them."""
        for context in self._contexts:
            context.close()
        return [fault for visit in self.visits for fault in visit.faults]

    def _kept(self, text: str) -> Path:
        path = self._folder / f"page-{len(self.visits)}.html"
        path.write_text(text, "utf-8")
        return path
