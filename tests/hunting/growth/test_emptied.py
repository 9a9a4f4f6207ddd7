"""What held less again at a later snapshot."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.heap.path_steps import merged_steps  # noqa: E402
from gradlife.hunting.growth.emptied import is_emptied  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot  # noqa: E402

Take = Callable[[], None]


def emptied(run: Callable[[Take], None], path: Callable[[], list[Any]], is_container: bool = True) -> bool:
    """Whether the snapshots show it that ``run`` takes; ``path``: objects at the first one, from the holder on."""
    snapshots: list[StepSnapshot] = []
    steps: list[Any] = []

    def take() -> None:
        snapshots.append(take_snapshot(len(snapshots), with_labels=True))
        if not steps:
            graph = snapshots[0].graph
            first, *others = [graph.find(id(one)) for one in path()]
            assert first is not None
            nodes = [*graph.path(first), *(node for node in others if node is not None)]
            found = merged_steps(graph.references_along(nodes))
            steps.extend(found)

    run(take)
    return is_emptied(snapshots, steps, is_container)


STATE = SimpleNamespace(kept=None)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("lengths", "is_lost"), [((20, 30, 40), False), ((20, 30, 5), True), ((20, 30, 29, 60), False), ((40, 0, 60), True)]
)
@pytest.mark.parametrize("is_same", [True, False])
def test_a_list_that_lost_most_items_was_emptied(lengths: tuple[int, ...], is_lost: bool, is_same: bool) -> None:
    """Also if another list is at its place."""

    def run(take: Take) -> None:
        STATE.kept = []
        for length in lengths:
            made = [object() for _ in range(length)]
            if is_same:
                STATE.kept[:] = made
            else:
                STATE.kept = made
            take()

    assert emptied(run, lambda: [STATE.kept]) == is_lost


@pytest.mark.whole
@pytest.mark.parametrize(("lengths", "is_lost"), [((20, 30, 40), False), ((20, 30, 5), True)])
def test_a_variable_of_the_next_call_of_its_function_is_the_same_place(lengths: tuple[int, ...], is_lost: bool) -> None:
    lists: list[Any] = []

    def epoch(length: int, take: Take) -> None:
        losses = [object() for _ in range(length)]
        lists[:] = [id(losses)]
        take()

    def run(take: Take) -> None:
        for length in lengths:
            epoch(length, take)

    def path() -> list[Any]:
        import gc

        return [next(one for one in gc.get_objects() if id(one) == lists[0])]

    assert emptied(run, path) == is_lost


@pytest.mark.whole
@pytest.mark.parametrize(("rows", "is_lost"), [((8, 16, 24), False), ((8, 16, 4), True)])
def test_a_tensor_that_is_short_again_was_emptied(rows: tuple[int, ...], is_lost: bool) -> None:
    def run(take: Take) -> None:
        for count in rows:
            STATE.kept = torch.zeros(count, 64)
            take()

    assert emptied(run, lambda: [STATE.kept], is_container=False) == is_lost


@pytest.mark.whole
def test_a_place_that_is_gone_tells_nothing() -> None:
    def run(take: Take) -> None:
        STATE.kept = [object() for _ in range(20)]
        take()
        del STATE.kept
        take()

    assert not emptied(run, lambda: [STATE.kept])
