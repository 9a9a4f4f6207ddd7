"""`_is_legacy` is looked up, at each backward, on an object that may answer anything."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import RELEASES, Canary, collector_off, doubling, failure, leaf, unraisable_errors


class Hostile(Exception):
    """The error that the hostile lookup raises."""


def with_lookup(answer: Any) -> Any:
    """A Function whose contexts answer `_is_legacy` themselves: by raising, or with a value."""
    function = doubling()

    def lookup(self: Any, name: str) -> Any:
        if name != "_is_legacy":
            return object.__getattribute__(self, name)
        if answer is Hostile:
            raise Hostile("no answer")
        return answer

    function._backward_cls.__getattribute__ = lookup
    return function


@pytest.mark.parametrize("profile", RELEASES)
def test_hostile_lookup_of_is_legacy_passes_its_error_on_and_leaks_nothing(profile: str) -> None:
    with torch.profile(profile), collector_off(), unraisable_errors() as errors:
        before = torch.live_counts()
        x = leaf()
        y = with_lookup(Hostile).apply(x)
        y.grad_fn.canary = Canary()
        assert failure(y.sum().backward) == "Hostile: no answer"
        assert x.grad is None
        del x, y
        assert torch.live_counts() == before
    assert errors == []


@pytest.mark.parametrize("answer", [None, 0, "yes", 1, []])
def test_answer_that_is_not_true_itself_makes_no_context_legacy(answer: Any) -> None:
    x = leaf()
    with_lookup(answer).apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
