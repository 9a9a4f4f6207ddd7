"""Graphs that no backward pass reads: what one `torch.no_grad()` frees together, and the operations that it is put around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradlife.peaks.analysis.groups import Group
from gradlife.peaks.analysis.saved_unread import is_freed_in_backward
from gradlife.peaks.recording.lifetimes import Frame, Recording, Storage
from gradlife.peaks.recording.variables import Kind


def join_graphs(recording: Recording, groups: Sequence[Group]) -> None:
    """Set `Group.graphs` of each group: names whose graphs hold a storage in common have parts of one graph."""
    unread = [group for group in groups if is_unread(recording, group)]
    for group in unread:
        group.graphs = graph_places(group)
    for group in unread:
        if not group.graphs:
            group.graphs = graph_of_same_line(recording, group, unread)
    while any(grow(group, other) for group in unread for other in unread):
        pass


def grow(group: Group, other: Group) -> bool:
    """Add the graphs of another group if they are parts of one graph; return whether that adds any."""
    if group.graphs.isdisjoint(other.graphs) or other.graphs <= group.graphs:
        return False
    group.graphs |= other.graphs
    return True


def graph_of_same_line(recording: Recording, group: Group, others: Sequence[Group]) -> frozenset[object]:
    """Return the graph of a group whose graphs have no name yet: the one that the same lines make in other steps."""
    if not any(one.kind is Kind.SAVED for one in group.holders):
        return frozenset()
    ours = set(stacks_of(recording, group))
    found = (one for one in others if not ours.isdisjoint(stacks_of(recording, one)))
    nameless = frozenset(one.place for one in group.holders if one.kind is Kind.SAVED)
    return next((one.graphs | nameless for one in found if one.graphs), frozenset())


def is_unread(recording: Recording, group: Group) -> bool:
    """Whether no backward pass has read what the graphs of a group hold."""
    is_read = group.last >= 0 and recording.operations[group.last].in_backward
    return not is_read and not any(is_freed_in_backward(recording, one) for one in group.storages)


def graph_places(group: Group) -> frozenset[object]:
    """Return the places of the names whose graphs hold a group."""
    return frozenset(one.place for one in group.holders if one.kind is Kind.SAVED and one.name)


def related(groups: Iterable[Group], group: Group) -> list[Group]:
    """Return the groups that parts of one graph hold."""
    return [other for other in groups if not group.graphs.isdisjoint(other.graphs)]


def stacks_of(recording: Recording, group: Group) -> Iterator[tuple[Frame, ...]]:
    """Yield the stacks of the operations that save what the graphs of a group hold."""
    for storage in group.storages:
        for stack in saving_stacks(recording, storage, group.nodes.get(storage.number, frozenset())):
            yield tuple(stack)


def saving_stacks(recording: Recording, storage: Storage, nodes: frozenset[str]) -> Iterator[Sequence[Frame]]:
    """Yield the stacks of the operations that save a storage; where none has the name of a node, of the one that made it."""
    made = [storage.birth] if storage.birth is not None else []
    forward = [one for at in (*made, *storage.reads) if not (one := recording.operations[at]).in_backward]
    found = [one.frames for one in forward if operation_name(one.function) in nodes]
    yield from found or [recording.operations[at].frames for at in made]


def operation_name(function: str) -> str:
    """Return the name of an operation as that of its node has it: ``logsoftmax``."""
    return function.removeprefix("aten.").replace("_", "").removesuffix("forward")
