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
