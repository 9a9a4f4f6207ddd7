"""A whole page from a template and values."""

from __future__ import annotations

from markupsafe import Markup

from gradlife.reports.html.environment import environment
from gradlife.visible_text import visible_lines

#: Height of a page within a notebook, in pixels; it scrolls by itself.
FRAME_HEIGHT = 640


def render_page(title: str, template: str, **values: object) -> str:
    """Return a self-contained page from a template that extends `page.html`.

    Values are escaped everywhere. Blocks of `page.html` to fill: summary (beside the title), nav, content, style and
    script. Write it with `gradlife.output.open_output`, opened before anything runs.
    """
    return visible_lines(environment().get_template(template).render(title=title, **values))


def as_frame(page: str, height: int = FRAME_HEIGHT) -> str:
    """Return a page as HTML for a notebook: in a frame, so that its scripts and styles affect nothing else."""
    frame = Markup('<iframe title="gradlife" srcdoc="{}" sandbox="allow-scripts" style="{}"></iframe>')
    return str(frame.format(page, f"width:100%;height:{height}px;border:0"))
