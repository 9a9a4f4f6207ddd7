"""SVG elements as text. Words are escaped, in contents as in attributes."""

from __future__ import annotations

import html
import re

#: Characters that XML forbids: control characters and lone surrogates.
NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Svg(str):
    """Finished markup; templates insert it unescaped."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup, as templates ask for it."""
        return str(self)


def escaped(text: str) -> str:
    """Escape words for markup."""
    return html.escape(NOT_IN_XML.sub("\ufffd", text))


def element(name: str, *children: str, **attributes: str | float) -> Svg:
    """Return an element without its empty attributes. An underscore in a name becomes a hyphen, or nothing at the
    end.
    """
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value) if isinstance(value, str) else figure(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    inner = "".join(child if isinstance(child, Svg) else escaped(child) for child in children)
    return Svg(f"<{name}{text}>{inner}</{name}>" if inner else f"<{name}{text}/>")


def joined(parts: list[Svg]) -> Svg:
    """Concatenate elements."""
    return Svg("".join(parts))


def figure(value: float) -> str:
    """Format a length or a position in pixels, to a hundredth: 12, 0.25."""
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-0", "0") if abs(value) < 0.005 else plain_figure(value)


def plain_figure(value: float) -> str:
    """Format a number that is not nearly zero."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def picture(
    width: float, height: float, title: str, description: str, parts: list[Svg], *, kind: str, role: str = "img"
) -> Svg:
    """Return a whole drawing with a title and description for screen readers; by default as wide as its place."""
    label = f"{title}. {description}" if description else title
    return element(
        "svg",
        element("desc", label),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {figure(width)} {figure(height)}",
        width=width,
        height=height,
        class_=f"drawing {kind}",
        role=role,
        aria_label=label,
    )
