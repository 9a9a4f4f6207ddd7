"""The name under which a program's statement stores what a step of a path refers to."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.place import Place, PlaceKind, place_at
from gradlife.model.trace import Hop, PathStep

LINEAR, MODULE = "torch.nn.modules.linear.Linear", "torch.nn.modules.module.Module"
OWN_DICT = Hop(LINEAR, "internal", "__dict__")


def module(*hops: Hop) -> PathStep:
    return PathStep("Linear", "", "python", "", "attribute", type=LINEAR, bases=(MODULE,), hops=hops)


@pytest.mark.parametrize(
    "hops",
    [
        (OWN_DICT, Hop("dict", "dict_value", "'_parameters'"), Hop("dict", "dict_value", "'weight'")),
        (Hop(LINEAR, "attribute", "_parameters"), Hop("dict", "dict_value", "'weight'")),
        (OWN_DICT, Hop("dict", "dict_value", "'weight'")),
        (Hop(LINEAR, "attribute", "weight"),),
    ],
    ids=["member", "member on 3.13", "attribute", "attribute on 3.13"],
)
def test_member_of_a_module_has_its_name_with_a_dict_on_the_path_or_without(hops: tuple[Hop, ...]) -> None:
    assert place_at(module(*hops)) == Place("weight", PlaceKind.ATTRIBUTE, (LINEAR, MODULE))


def test_entry_of_another_table_has_no_name() -> None:
    assert place_at(module(Hop(LINEAR, "attribute", "table"), Hop("dict", "dict_value", "'weight'"))) is None


MODULES, HEADS = Hop("dict", "dict_value", "'_modules'"), Hop("dict", "dict_value", "'heads'")
NUMBER = Hop("dict", "dict_value", "'25'")


@pytest.mark.parametrize(
    "hops",
    [
        (OWN_DICT, MODULES, HEADS, OWN_DICT, MODULES, NUMBER),
        (OWN_DICT, MODULES, HEADS, OWN_DICT, MODULES, NUMBER, OWN_DICT, MODULES, NUMBER),
        (Hop(LINEAR, "attribute", "_modules"), HEADS, Hop(LINEAR, "attribute", "_modules"), NUMBER),
    ],
    ids=["list", "list in a list", "list on 3.13"],
)
def test_numbers_in_lists_of_modules_are_no_names(hops: tuple[Hop, ...]) -> None:
    assert place_at(module(*hops)) == Place("heads", PlaceKind.ATTRIBUTE, (LINEAR, MODULE))


@pytest.mark.parametrize(
    "hops", [(OWN_DICT, MODULES, NUMBER), (Hop(LINEAR, "attribute", "_modules"), NUMBER)], ids=["dict", "3.13"]
)
def test_an_item_of_a_list_of_modules_alone_has_no_name(hops: tuple[Hop, ...]) -> None:
    """A hunt ended with an error there."""
    assert place_at(module(*hops)) is None
