"""Small views of large storages that a finished step left: nothing grows, but most of the memory kept is unused.

A view keeps its whole storage alive. If all tensors that the program still names show only a small part of a storage
made anew in the rounds, the rest is wasted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradlife import _heap
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup
from gradlife.hunting.snapshots.retained import Kept, dominators, kept_by_steps, storages_of, together
from gradlife.hunting.snapshots.step_snapshots import storage_content
from gradlife.hunting.snapshots.survivors import Births
from gradlife.model.trace import bytes_of_detail

#: A storage must be this many times larger than its visible part, and have this many invisible bytes.
MUCH = 4
MIN_UNSEEN_BYTES = 64 * 1024


def finished_steps(evidence: Evidence, grown: Sequence[GrownGroup]) -> list[Kept]:
    """Find non-growing leftovers of finished steps: graphs, frames, and storages behind small views.

    Anything on the same container as a growing group belongs to that group and is from before the first snapshot.
    """
    known = {node for one in grown for node in (*one.group.members, *one.containers)}
    kept = kept_by_steps(evidence.snapshots[-1], known)
    known = known.union(*(one.storages for one in kept))
    return kept + kept_by_slices(evidence.graph, evidence.born, known)


def kept_by_slices(graph: _heap.Graph, born: Births, skipped: Iterable[int]) -> list[Kept]:
    """Find storages made in a round, where the program's tensors show only a small part of them."""
    outside = set(skipped)
    found = []
    for storage in storages_of(graph):
        content = storage_content(graph, storage)
        if content < MIN_UNSEEN_BYTES or storage not in born or graph.dominator(storage) is None:
            continue
        shown = shown_of(graph, storage)
        if shown is None or MUCH * shown > content or content - shown < MIN_UNSEEN_BYTES:
            continue
        if outside.isdisjoint([storage, *dominators(graph, storage)]):
            found.append(Kept(storage, [storage], content))
    return together(graph, found)


def shown_of(graph: _heap.Graph, storage: int) -> int | None:
    """Count the bytes of a storage that named tensors show; None if one of its uses hides the size."""
    total = 0
    for impl in graph.referrers(storage):
        if graph.kind(impl) != "tensor":
            return None
        if is_named(graph, impl, storage):
            shown = bytes_of_detail(graph.path_references(impl)[-1].detail) if graph.path(impl) else None
            if shown is None:
                return None
            total += shown
    return total


def is_named(graph: _heap.Graph, impl: int, storage: int) -> bool:
    """Whether a tensor or its wrapper has a referrer other than each other and views of the tensor.

    A referring tensor with another storage is not a view: it has this tensor as its gradient.
    """
    wrappers = {node for node in graph.referents(impl) if graph.kind(node) == "python"}
    own = {impl, *wrappers}
    users = [node for node in graph.referrers(impl) if node not in own]
    if any(graph.kind(node) != "tensor" or storage not in graph.referents(node) for node in users):
        return True
    return any(node not in own for wrapper in wrappers for node in graph.referrers(wrapper))
