"""A Sphinx extension: writes docs/codes, a page per GL code and an index, before Sphinx reads the pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from code_examples import examples_of
from code_history import verdicts_by_story
from code_text import Sources, index_text, known_text, page_text

from gradlife.patterns import SENTENCES
from gradlife.runner.discover import discover

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, str]:
    """Return the text of each page, by its name."""
    stories = [story for story in discover() if story.info.pattern]
    sources = Sources(stories, verdicts_by_story(stories), examples_of(ROOT / "tests" / "patterns"))
    return {"index": index_text(), "known": known_text(), **{code: page_text(code, sources) for code in SENTENCES}}


def write_pages(app: Sphinx) -> None:
    """Write only changed pages, so that Sphinx does not read the others again."""
    folder = Path(app.srcdir) / "codes"
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.md"):
        if old.stem not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
