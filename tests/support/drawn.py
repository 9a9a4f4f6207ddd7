"""Drawings read back: what stands where."""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def all_of(root: ElementTree.Element, name: str, kind: str = "") -> list[ElementTree.Element]:
    """Elements of a name, and of a class where one is given."""
    found = root.iter(SVG + name)
    return [one for one in found if not kind or kind in one.get("class", "").split()]


def words_of(root: ElementTree.Element, kind: str = "") -> list[str]:
    """Return the visible texts, without tooltips."""
    return [(one[0].tail if len(one) else one.text) or "" for one in all_of(root, "text", kind)]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, ""))
