"""Attributes that a library reads. Such a read does not show in the program's own files."""

from __future__ import annotations

import functools
import re

from gradlife.heap.program_modules import is_program
from gradlife.hunting.stores.place import Place, PlaceKind
from gradlife.safe_access import exact_text, is_a, loaded, member


def is_known_to_library(place: Place) -> bool:
    """Whether a library class has the attribute, or the file of such a class mentions it."""
    if place.kind is not PlaceKind.ATTRIBUTE:
        return False
    return any(is_known_to(owner, place.name) for owner in place.owners)


def is_known_to(owner: str, name: str) -> bool:
    """Whether the class belongs to a library and has the attribute, or its file mentions it. Runs none of its code."""
    module, _, qualified = owner.rpartition(".")
    found = loaded(module)
    file = exact_text(member(module, "__file__"))
    if found is None or module == "__main__" or (file is not None and is_program(file)):
        return False
    one = member(module, qualified)
    if is_a(one, type) and name in type.__dict__["__dict__"].__get__(one):
        return True
    return file is not None and re.search(rf"\.{name}\b|(['\"]){name}\1", text_of(file)) is not None


@functools.lru_cache(maxsize=16)
def text_of(file: str) -> str:
    """Return the text of a source file; empty if it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError:
        return ""
