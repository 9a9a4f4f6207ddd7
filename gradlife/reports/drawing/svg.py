"""Elements of SVG as text. What is given as words is escaped, in contents as in attributes."""

from __future__ import annotations

import html
import re

#: Characters that XML forbids: control characters and lone surrogates.
NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Svg(str):
    """Markup that is finished; templates take it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself, as templates ask for it."""
        return str(self)


def escaped(text: str) -> str:
    """Words as they stand in markup."""
    return html.escape(NOT_IN_XML.sub("\ufffd", text))


def element(name: str, *children: str, **attributes: str | float) -> Svg:
    """An element. An attribute's underscores are hyphens, one at its end is none; an empty one is left out."""
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value) if isinstance(value, str) else figure(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    inner = "".join(child if isinstance(child, Svg) else escaped(child) for child in children)
    return Svg(f"<{name}{text}>{inner}</{name}>" if inner else f"<{name}{text}/>")


def joined(parts: list[Svg]) -> Svg:
    """Elements in a row."""
    return Svg("".join(parts))


def figure(value: float) -> str:
    """A length or a place in pixels, to a hundredth: 12, 0.25."""
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-0", "0") if abs(value) < 0.005 else plain_figure(value)


def plain_figure(value: float) -> str:
    """A number that is not nearly zero."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def picture(
    width: float, height: float, title: str, description: str, parts: list[Svg], *, kind: str, role: str = "img"
) -> Svg:
    """A whole drawing. Screen readers get its title and description; without a viewer's help it is as wide as its place."""
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
