"""Attributes that a library reads, although no file of the program does."""

from __future__ import annotations

import sys

import pytest

from gradlife.hunting.stores.library_names import is_known_to_library
from gradlife.hunting.stores.place import Place, PlaceKind

OWNER = "textwrap.TextWrapper"  # of the standard library, which is no program


@pytest.mark.parametrize(("name", "is_known"), [("width", True), ("fill", True), ("kept", False), ("wrap", True)])
def test_an_attribute_that_the_file_of_a_class_reads_is_known(name: str, is_known: bool) -> None:
    import textwrap

    assert sys.modules[textwrap.__name__] is textwrap
    assert is_known_to_library(Place(name, PlaceKind.ATTRIBUTE, (OWNER,))) is is_known


def test_variables_and_attributes_of_the_program_are_not() -> None:
    assert not is_known_to_library(Place("width", PlaceKind.GLOBAL))
    assert not is_known_to_library(Place("width", PlaceKind.ATTRIBUTE, ("__main__.Trainer", "absent.Class")))
