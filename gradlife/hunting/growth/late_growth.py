"""Growth that begins after the first verdict, of any kind: containers made meanwhile, cycles that nothing reaches, tensors
that get longer.

The last late rounds are judged as the first ones were. Each is longer than all before it but a few, so a list that is
emptied after every epoch is seen to be emptied.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradlife.hunting.growth.controls import Controls
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.inplace_growth import Place, place_of, places_that_grow
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, evidence_of, grown_groups
from gradlife.hunting.growth.rounds import planted_in, without_planted
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: How many late rounds are judged. Each is about a third longer than the one before, so together they have two thirds of
#: all steps: more than any epoch but the first.
LATE_ROUNDS = 4


def begun_late(
    snapshots: Sequence[StepSnapshot], early: int, controls: Controls, known: Sequence[Group]
) -> list[GrownGroup]:
    """Return what grows in each of the last late rounds, without the groups in `known`; ``early``: snapshots before the
    first verdict. Without full collections nothing unreachable counts: it may wait for the collector.
    """
    recent = last_rounds(snapshots, early)
    evidence = judged_alone(recent, controls) if recent else None
    if evidence is None:
        return []
    found, _ = grown_groups(evidence)
    found = [*found, *places_that_grow(evidence, found, is_strict=True)]
    taken = {node for group in known for node in group.members}
    is_collected = all(one.is_collected for one in recent)
    return [
        one for one in found if taken.isdisjoint(one.group.members) and (is_collected or one.group.anchor is not None)
    ]


def places_begun_late(snapshots: Sequence[StepSnapshot], early: int, controls: Controls) -> tuple[Place, ...]:
    """Return the places where each of the last late rounds shows a larger tensor. Reads the graphs: call it in a fork."""
    recent = last_rounds(snapshots, early)
    evidence = judged_alone(recent, controls) if recent else None
    if evidence is None:
        return ()
    return tuple(place_of(evidence.graph, one) for one in places_that_grow(evidence, [], is_strict=True))


def last_rounds(snapshots: Sequence[StepSnapshot], early: int) -> list[StepSnapshot]:
    """Return the snapshots around the last late rounds; none if there are fewer late rounds."""
    late = [*snapshots[max(0, early - 1) :]]
    return late[-(LATE_ROUNDS + 1) :] if len(late) > LATE_ROUNDS else []


def judged_alone(snapshots: Sequence[StepSnapshot], controls: Controls) -> Evidence | None:
    """Return the evidence of these rounds only; None if some are too short to count by themselves."""
    whole = evidence_of(snapshots, LATE_ROUNDS)
    if len(whole.snapshots) <= LATE_ROUNDS:
        return None
    return without_planted(whole, planted_in(whole.snapshots, controls))
