"""A terminal report as a picture: an SVG that needs no font, no network and no other file."""

from __future__ import annotations

import io
from collections.abc import Callable
from html import escape

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from gradlife.reports.theme import ReportConsole
from gradlife.reports.xml_text import legal
from gradlife.visible_text import visible, visible_lines

#: Columns of a picture.
WIDTH = 100
#: Width over height of a character, close enough for the fonts below; each piece of text is stretched to its columns.
ASPECT = 0.6
FONTS = 'ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'

GROUND, TEXT = (255, 255, 255), (11, 14, 18)
#: Black, red, green, yellow, blue, magenta, cyan, white, all readable on the background, dim ones too.
COLOURS = [
    (11, 14, 18),
    (165, 18, 32),
    (20, 99, 43),
    (122, 84, 0),
    (11, 92, 173),
    (122, 38, 151),
    (10, 92, 110),
    (82, 92, 104),
]
THEME = TerminalTheme(GROUND, TEXT, COLOURS, COLOURS)

#: The template that rich fills in, with the title in place of a window's.
FRAME = """\
<svg viewBox="0 0 {{width}} {{height}}" role="img" xmlns="http://www.w3.org/2000/svg">
<title>{title}</title>
<style>
.{{unique_id}}-matrix {{{{ font: {{char_height}}px/{{line_height}}px {fonts}; white-space: pre; }}}}
.{{unique_id}}-title {{{{ font: bold 16px {fonts}; fill: #525c68; }}}}
{{styles}}
</style>
<defs>
<clipPath id="{{unique_id}}-clip-terminal"><rect x="0" y="0" width="{{terminal_width}}" height="{{terminal_height}}"/></clipPath>
{{lines}}
</defs>
<rect x="0.5" y="0.5" width="{{width}}" height="{{height}}" rx="6" fill="#ffffff"/>
<text class="{{unique_id}}-title" x="10" y="26">{title}</text>
<g transform="translate({{terminal_x}}, {{terminal_y}})" clip-path="url(#{{unique_id}}-clip-terminal)">
{{backgrounds}}
<g class="{{unique_id}}-matrix">
{{matrix}}
</g>
</g>
</svg>
"""


def svg_of(show: Callable[[Console], object], title: str, width: int = WIDTH) -> str:
    """Draw what `show` prints on a console. The same report gives the same picture, byte for byte."""
    console = ReportConsole(
        file=io.StringIO(),
        record=True,
        width=width,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    show(console)
    words = escape(legal(visible(title))).replace("{", "{{").replace("}", "}}")
    frame = FRAME.format(title=words, fonts=FONTS)
    return visible_lines(console.export_svg(title=title, theme=THEME, code_format=frame, font_aspect_ratio=ASPECT))
