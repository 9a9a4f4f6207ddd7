from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.errors import UnknownNameError
from gradlife.heap import Snapshot, open_snapshot
from gradlife.heap.neighbourhood import FIRST_STEPS, LAST_STEPS, MAX_REFERENTS, MAX_REFERRERS
from gradlife.model.neighbourhood import Neighbourhood, Role
from gradlife.model.trace import Lifetime
from leftovers import run_script

HEAP = """
import gc, sys
import gradlife
gc.disable()

class Marked:
    pass

class Ring:
    pass

class Wide:
    pass

class Shared:
    pass

class Holder:
    pass

marked = Marked()
holders = {"first": [marked], "second": (marked,)}
del marked
ring = Ring(); ring.other = Ring(); ring.other.back = ring; ring.own = Marked
del ring
wide = Wide(); wide.parts = [object() for _ in range(3)]
for number in range(20):
    setattr(wide, f"part{number}", [number])
shared = Shared()
keepers = [Holder() for _ in range(30)]
for keeper in keepers:
    keeper.value = shared
class Last:
    pass

chain = Last()
for number in range(1000):
    chain = {"next": chain}
gradlife.snapshot().save(sys.argv[1])
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A small program's heap."""
    file = tmp_path_factory.mktemp("heap") / "x.glheap"
    result = run_script(HEAP, str(file))
    assert result.returncode == 0, result.stderr
    return open_snapshot(file)


def ties(around: Neighbourhood) -> set[tuple[str, str, str]]:
    """References by what they join."""
    names = {one.id: one.object for one in around.neighbours}
    return {(names[tie.source], tie.via, names[tie.target]) for tie in around.ties}


def roles(around: Neighbourhood, role: Role) -> list[str]:
    return sorted(one.object for one in around.neighbours if one.role is role)


def test_every_path_to_an_object_is_shown(saved: Snapshot) -> None:
    around = saved.neighbourhood("Marked")
    assert (around.title, around.lifetime, around.more_referrers) == ("Marked", Lifetime.HELD, 0)
    assert {("dict", "['first']", "list"), ("list", "[0]", "Marked")} <= ties(around)
    assert {("dict", "['second']", "tuple"), ("tuple", "[0]", "Marked")} <= ties(around)
    assert roles(around, Role.TARGET) == ["Marked"]
    assert roles(around, Role.ROOT) == ["module"]
    assert any(tie.is_suspect for tie in around.ties)


def test_the_cycle_that_keeps_an_object_is_closed(saved: Snapshot) -> None:
    around = saved.neighbourhood("Ring")
    assert around.lifetime is Lifetime.GC
    assert {("Ring", ".other", "Ring"), ("Ring", ".back", "Ring")} <= ties(around)
    assert roles(around, Role.ROOT) == []
    assert len(roles(around, Role.TARGET) + roles(around, Role.RING)) == 2


def test_what_an_object_refers_to_is_shown_as_far_as_there_is_room(
    saved: Snapshot,
) -> None:
    around = saved.neighbourhood("Wide")
    kept = roles(around, Role.KEPT)
    assert len(kept) == MAX_REFERENTS
    assert around.more_referents == 21 - MAX_REFERENTS
    assert ("Wide", ".parts", "list") in ties(around)
    assert "type" not in kept


def test_of_many_that_refer_to_an_object_some_are_shown_and_the_rest_is_counted(
    saved: Snapshot,
) -> None:
    around = saved.neighbourhood("Shared")
    shown = {source for source, via, target in ties(around) if (via, target) == (".value", "Shared")}
    assert shown <= {"Holder"}
    into = [tie for tie in around.ties if tie.target == next(n.id for n in around.neighbours if n.role is Role.TARGET)]
    assert len(into) <= MAX_REFERRERS + 1
    assert around.more_referrers == 31 - MAX_REFERRERS


def test_an_unknown_type_is_refused(saved: Snapshot) -> None:
    with pytest.raises(UnknownNameError):
        saved.neighbourhood("Nothing")


def test_the_middle_of_a_long_path_is_only_counted(saved: Snapshot) -> None:
    around = saved.neighbourhood("Last")
    assert len(around.neighbours) == FIRST_STEPS + LAST_STEPS
    (gap,) = [tie.via for tie in around.ties if "more" in tie.via]
    assert gap == f"['next'] … and {1002 - FIRST_STEPS - LAST_STEPS:,} objects more"


GRAPH = """
import sys, torch
import gradlife
weight = torch.ones(64, 64, requires_grad=True)
history = [(weight * 2).sum()]
gradlife.snapshot().save(sys.argv[1])
"""


@pytest.mark.whole
@pytest.mark.torch
def test_a_tensor_is_joined_to_its_graph_and_its_storage(tmp_path: Path) -> None:
    assert run_script(GRAPH, str(tmp_path / "x.glheap")).returncode == 0
    saved = open_snapshot(tmp_path / "x.glheap")
    around = saved.neighbourhood("SumBackward0")
    assert {("list", "[0]", "Tensor"), ("Tensor", "grad_fn", "SumBackward0")} <= ties(around)
    assert ("SumBackward0", "next edge", "MulBackward0") in ties(around)
    assert {tie.is_native for tie in around.ties if tie.via == "next edge"} == {True}
    impl = saved.neighbourhood("TensorImpl")
    assert len([one for one in impl.neighbours if one.role is Role.TARGET]) == 1
    assert all(tie.source != tie.target for tie in impl.ties)
