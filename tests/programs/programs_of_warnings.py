"""Small programs that PyTorch warns of, or refuses, since elements share memory or a history is lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from programs_tools import attempt, programs_in


def warnings_of(call: Callable[[], Any]) -> list[str]:
    """Return the result of a call and its warnings, without the place in PyTorch's source."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = attempt(call)
    return [said, *(str(item.message).split(" (Triggered")[0] for item in caught)]


def expanded(framework: Any) -> Any:
    return framework.tensor([1.0]).expand(6)


def places_by_number_in_expanded_tensors(fw: Any) -> Any:
    index = fw.tensor([0, 1])
    return [
        warnings_of(lambda: expanded(fw).__setitem__(index, 3.0)),
    ]


def masks_over_expanded_tensors(fw: Any) -> Any:
    mask = fw.tensor([True] * 6)
    return [
        warnings_of(lambda: expanded(fw).masked_fill(mask, 3.0)),
    ]


def written_memory_that_is_read_too(fw: Any) -> Any:
    values, mask = fw.arange(6.0), fw.tensor([True] * 3)
    return [
        values.tolist(),
        mask.tolist(),
    ]


def a_history_is_lost_to_a_number(fw: Any) -> Any:
    x = fw.tensor(2.0, requires_grad=True)
    fw.set_warn_always(True)
    try:
        said = [warnings_of(call) for call in (x.__float__, x.__int__, x.item, x.tolist, x.detach().__float__)]
        with fw.no_grad():
            said.append(warnings_of(x.__float__))
        return [fw.is_warn_always_enabled(), said]
    finally:
        fw.set_warn_always(False)


def that_is_told_once(fw: Any) -> Any:
    x = fw.tensor(2.0, requires_grad=True)
    warnings_of(x.__float__)
    return [warnings_of(x.__float__), fw.is_warn_always_enabled(), attempt(lambda: fw.set_warn_always(1))]


PROGRAMS = programs_in(globals())
