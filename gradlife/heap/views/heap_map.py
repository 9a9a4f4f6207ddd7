"""The part of a snapshot that fits on a page: the objects that retain most and their surroundings."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gradlife.heap.snapshot import Snapshot
from gradlife.heap.views.browsing import PROCESS, UNREACHED, Browser, HeapNode
from gradlife.model.heap import device_of
from gradlife.model.heap_map import Area, HeapMap, MappedObject, OtherEnd

#: Most objects, levels, and list entries.
OBJECTS, DEPTH, KEPT, NEIGHBOURS = 1200, 24, 24, 8
#: The node of all unreachable objects.
UNREACHED_OBJECTS = 100
#: An area above this share of all bytes is divided if one of its parts has this share of it.
LARGE, WORTHWHILE = 1 / 12, 1 / 25
#: Most areas, and parts of each.
AREAS, PARTS = 48, 16


def heap_map(snapshot: Snapshot, objects: int = OBJECTS, areas: int = AREAS) -> HeapMap:
    """Return a map of that many objects and areas. Takes some 0.5 s for a snapshot of a million objects."""
    return Mapper(Browser(snapshot)).map(objects, areas)


def object_map(snapshot: Snapshot, what: int | str) -> MappedObject:
    """Return the map of one object: at an address, or the one of a type that retains most."""
    mapper, node = Mapper(Browser(snapshot)), snapshot._node_of(what)
    return mapper.mapped(node, UNREACHED, mapper.storages([node])[node], most=50)


class Mapper:
    """Makes one map."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._snapshot = browser.snapshot
        self._graph = browser.snapshot._graph
        self._kept: dict[int, list[int]] = {}
        self._chosen: set[int] = set()

    def map(self, objects: int, areas: int) -> HeapMap:
        """Build the whole map."""
        above = self.chosen(PROCESS, objects) | self.chosen(UNREACHED, min(objects, UNREACHED_OBJECTS))
        self._chosen = set(above)
        storages = self.storages(above)
        reached = self._browser.bytes
        return HeapMap(
            objects=tuple(self.mapped(node, holder, storages[node]) for node, holder in above.items()),
            areas=tuple(self.areas(areas)),
            reached_bytes=reached,
            unreached_bytes=max(0, self._snapshot.bytes - reached),
            unreached_count=self._browser.kept_count(UNREACHED),
            depth=DEPTH,
        )

    def kept(self, node: int) -> list[int]:
        """Return what a node dominates, largest first, as far as it can be shown. Cached."""
        if node not in self._kept:
            self._kept[node] = self._browser.kept(node)[: max(KEPT, OBJECTS)]
        return self._kept[node]

    def chosen(self, start: int, count: int) -> dict[int, int]:
        """Return the objects that retain most below a start, each with its dominator; dominators come first."""
        found: dict[int, int] = {}
        waiting = [self.waiting(node, start, 1) for node in self.kept(start)[:count]]
        heapq.heapify(waiting)
        while waiting and len(found) < count:
            _, node, holder, depth = heapq.heappop(waiting)
            found[node] = holder
            if depth < DEPTH:
                for one in self.kept(node)[:KEPT]:
                    heapq.heappush(waiting, self.waiting(one, node, depth + 1))
        return found

    def shown(self, node: int, most: int) -> list[int]:
        """Return the first objects that a node dominates, and those that have their own entry."""
        return [one for rank, one in enumerate(self.kept(node)[:KEPT]) if rank < most or one in self._chosen]

    def waiting(self, node: int, holder: int, depth: int) -> tuple[int, int, int, int]:
        """Return a node's queue entry."""
        return -self._graph.retained(node), node, holder, depth

    def storages(self, wanted: Iterable[int]) -> dict[int, Counter[str]]:
        """Return bytes of storages by device for each object that retains them."""
        found: dict[int, Counter[str]] = defaultdict(Counter)
        nodes = set(wanted)
        for storage in self._graph.nodes("storage", ""):
            found_at = self._graph.describe(storage)
            for node in self.upwards(storage):
                if node in nodes:
                    found[node][device_of(found_at.type)] += found_at.bytes or 0
        return found

    def upwards(self, node: int) -> Iterator[int]:
        """Yield a node and its dominators."""
        at: int | None = node
        while at is not None and at != PROCESS:
            yield at
            at = self._graph.dominator(at)

    def mapped(self, node: int, holder: int, storages: Counter[str], most: int = NEIGHBOURS) -> MappedObject:
        """Build the entry of one object, with that many list entries."""
        row = self._browser.row(node, holder if holder > PROCESS else None)
        referrers, referents = self._browser.referrers(node), self._browser.referents(node)
        return MappedObject(
            node=node,
            above=holder,
            kind=row.kind,
            type=row.type,
            detail=row.detail,
            address=row.address,
            bytes=row.bytes,
            retained=row.retained,
            via=row.via,
            storages=tuple(storages.most_common()),
            kept=tuple(other_end(self._browser.row(one, node)) for one in self.shown(node, most)),
            kept_count=row.keeps,
            referrers=tuple(other_end(self._browser.referrer(one, node)) for one in referrers[:most] if one),
            referrer_count=len(referrers),
            referents=tuple(other_end(self._browser.row(one, node)) for one in referents[:most]),
            referent_count=len(referents),
        )

    def areas(self, count: int) -> Iterator[Area]:
        """Return the largest holders; a holder dominated mostly by one part is divided."""
        total = self._browser.bytes or 1
        waiting = [(-self._graph.retained(node), node, PROCESS) for node in self.kept(PROCESS)[: 4 * count]]
        heapq.heapify(waiting)
        whole = 0
        while waiting and whole < count:
            negative, node, above = heapq.heappop(waiting)
            parts = [(one, self._graph.retained(one)) for one in self.kept(node)[: 4 * count]]
            large = [one for one in parts if one[1] >= -negative * WORTHWHILE]
            if -negative < total * LARGE or not large:
                whole += 1
                yield self.area(node, above, -negative, parts)
                continue
            for one, retained in large:
                heapq.heappush(waiting, (-retained, one, node))
            rest = -negative - sum(retained for _, retained in large)
            if rest > 0:
                yield self.area(node, above, rest, parts[len(large) :], is_rest=True)

    def area(
        self, node: int, above: int, nbytes: int, parts: Sequence[tuple[int, int]], *, is_rest: bool = False
    ) -> Area:
        """Build one area with its first parts that retain anything."""
        lines = [other_end(self._browser.row(one, node)) for one, retained in parts[:PARTS] if retained]
        return Area(other_end(self._browser.row(node, above or None)), nbytes, tuple(lines), is_rest)


def other_end(row: HeapNode) -> OtherEnd:
    """Convert a row to the other end of a reference."""
    return OtherEnd(row.node, row.type, row.detail, row.address, row.retained, row.via)
