"""One name for everything that a group of storages is held by: ``.grad of net.*``, ``local outputs[*] of main``."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What several names may differ in: keys in brackets, and numbers in the path of a module.
PART = re.compile(r"\[[^\]]*\]|(?<=\.)\d+(?=[. ]|$)")
STARS = ("*", "[*]")  # for a number, for a key

#: The line of a frame, and whether it runs, waits or has failed.
STATE = re.compile(r":\d+(?=\))|(?<= of )the (generator|failed) ")

#: How the name of a gradient begins.
GRADIENT = ".grad of "


def common_title(texts: Sequence[str]) -> str:
    """Return what several names have in common. The first one belongs to the largest storage."""
    different: dict[str, str] = {}
    for text in texts:
        different.setdefault(STATE.sub("", text), text)
    first = texts[0]
    if len(different) == 1:
        return first
    if all(text.startswith(GRADIENT) for text in texts):
        return gradients_title([text.removeprefix(GRADIENT) for text in texts])
    return starred(list(different.values())) or f"{first} and others"


def family(text: str) -> str:
    """Return the name that items of one container, or equal parts of numbered modules, have in common."""
    return PART.sub("*", STATE.sub("", text))


def starred(texts: Sequence[str]) -> str:
    """Return texts that differ in keys and numbers alone as one, with stars for these; empty if they differ otherwise."""
    if len({PART.sub("*", text) for text in texts}) > 1:
        return ""
    columns = zip(*(PART.findall(text) for text in texts), strict=True)
    parts = [column[0] if len(set(column)) == 1 else STARS[column[0][0] == "["] for column in columns]
    return PART.sub(lambda _: parts.pop(0), texts[0])


def gradients_title(paths: Sequence[str]) -> str:
    """Return the module whose parameters have these gradients."""
    parts = [path.split(".")[:-1] for path in paths]
    shared = [names[0] for names in zip(*parts, strict=False)]
    while any(one[: len(shared)] != shared for one in parts):
        shared.pop()
    return f"gradients of {'.'.join(shared)}" if shared else f"{GRADIENT}{paths[0]} and others"
