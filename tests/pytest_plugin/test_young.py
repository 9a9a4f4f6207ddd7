"""Young objects: objects made since a moment are found without searching the older ones."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.pytest_plugin.checks.gc_boundary import Young


def functions(count: int) -> list[Callable[[], int]]:
    return [lambda: 0 for _ in range(count)]


def test_what_the_runs_made_before_they_are_counted_is_looked_through_no_more() -> None:
    young = Young()
    with young.session():
        made = functions(1000)
        assert young.boundary().plain >= 1000
        young.begin_again()
        start = young.boundary()
        made += functions(10)
        after = young.boundary()
    assert (start.is_blind, after.is_blind) == (False, False)
    assert after.plain - start.plain == 10
    assert after.plain < 1000
