"""`make pictures`: renews the outputs and pictures of the pages from runs of gradlife."""

from __future__ import annotations

import sys

from page_programs import PICTURES, drawings, program_pages, renewed, run_page
from readme_picture import draw_readme


def draw_pages() -> None:
    """Renew the pages that are programs."""
    for page in program_pages():
        blocks = run_page(page)
        page.write_text(renewed(page, blocks), encoding="utf-8")
        for path, picture in drawings(blocks):
            path.write_text(picture, encoding="utf-8")
        print(f"{page.name}: {len(blocks)} programs")


def main() -> int:
    """Draw everything; with the argument `pages` only what needs no PyTorch."""
    PICTURES.mkdir(exist_ok=True)
    draw_pages()
    if "pages" not in sys.argv[1:]:
        print(draw_readme())
    return 0


if __name__ == "__main__":
    sys.exit(main())
