"""The types that a holder retains, with the bytes of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradlife import _heap
from gradlife.model.heap import TypeCount

#: Types that are shown; the others share one row.
MAX_TYPES = 8
#: Objects that are counted, some 30 ms. Everything below them counts as not examined.
MAX_OBJECTS = 20_000

#: What snapshots of a hunt do not list one by one.
ATOMS = "numbers and short texts"


def types_retained(graph: _heap.Graph, tops: Sequence[int], most: int = MAX_OBJECTS) -> tuple[TypeCount, ...]:
    """Count the types of the objects that would be freed with these, largest first."""
    total = sum(graph.retained(node) for node in tops)
    return rows(graph, below(graph, tops, most), total)


def types_of(graph: _heap.Graph, nodes: Iterable[int]) -> tuple[TypeCount, ...]:
    """Count the types of these objects alone."""
    return rows(graph, nodes, 0)


def below(graph: _heap.Graph, tops: Sequence[int], most: int) -> Iterator[int]:
    """Find the objects that are reachable only through these, including these.

    All paths to such an object pass its dominator, so a walk from above meets the dominator first.
    """
    seen, waiting = set(tops), list(reversed(tops))
    while waiting and most > 0:
        node, most = waiting.pop(), most - 1
        yield node
        for other in graph.referents(node):
            if other not in seen and graph.dominator(other) in seen:
                seen.add(other)
                waiting.append(other)


def rows(graph: _heap.Graph, nodes: Iterable[int], total: int) -> tuple[TypeCount, ...]:
    """Return one row per type, one for the smallest types, and one for the rest of the total."""
    found = list(nodes)
    objects = [TypeCount(one.type, one.kind, 1, one.bytes or 0) for one in map(graph.describe, found)]
    atoms = sum(map(graph.atom_bytes, found))
    result = added_up([*objects, *([TypeCount(ATOMS, "", 0, atoms)] if atoms else [])])
    missing = total - sum(row.bytes for row in result)
    return (*result, *([TypeCount("not examined", "", 0, missing)] if missing > 0 else []))


def added_up(found: Iterable[TypeCount]) -> tuple[TypeCount, ...]:
    """Merge rows of the same type, largest first; the smallest of many types share one row."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for row in found:
        counts[row.type, row.kind] += row.count
        sizes[row.type, row.kind] += row.bytes
    sums = [TypeCount(*key, counts[key], nbytes) for key, nbytes in sizes.most_common()]
    rest = sums[MAX_TYPES:]
    if len(rest) > 1:
        sums = [
            *sums[:MAX_TYPES],
            TypeCount("other types", "", sum(r.count for r in rest), sum(r.bytes for r in rest)),
        ]
    return tuple(sums)
