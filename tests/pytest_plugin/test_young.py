"""NewObjects objects: objects made since a moment are found without searching the older ones."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.pytest_plugin.checks.gc_boundary import NewObjects


def functions(count: int) -> list[Callable[[], int]]:
    return [lambda: 0 for _ in range(count)]


def test_what_the_runs_made_before_they_are_counted_is_looked_through_no_more() -> None:
    new_objects = NewObjects()
    with new_objects.session():
        made = functions(1000)
        assert new_objects.boundary().plain >= 1000
        new_objects.start_over()
        start = new_objects.boundary()
        made += functions(10)
        after = new_objects.boundary()
    assert (start.is_unusable, after.is_unusable) == (False, False)
    assert after.plain - start.plain == 10
    assert after.plain < 1000
