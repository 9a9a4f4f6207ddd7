"""Growth of a forked worker by pages that it only reads: CPython writes a reference count with each read.

The objects on these pages are the parent's, so no object is new and malloc gives out nothing. The copies show in the
system's figures: private bytes grow, resident bytes do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from types import ModuleType
from typing import Any

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.process.private_pages import PrivateMemory, page_of, private_share
from gradlife.model.ranks import CopyOnRead
from gradlife.safe_access import attributes, class_name, is_a, is_exactly, values_in

#: Least bytes of copies that are reported, in all and per round.
MIN_BYTES, MIN_ROUND = 1 << 20, 64 << 10

#: Least rounds with copies.
MIN_ROUNDS = 3

#: Smaller containers cannot cause many copies.
MIN_ITEMS = 1000

#: Most items whose pages are looked up.
MAX_ITEMS = 20_000

#: Most objects searched for containers, and the depth of the search.
MAX_OBJECTS, DEPTH = 2000, 4

#: The memory at each snapshot, with the number of steps.
Moments = Sequence[tuple[int, PrivateMemory]]


def copy_on_read(moments: Moments, roots: Mapping[str, Any]) -> CopyOnRead | None:
    """Return the copies made by a worker, from its memory at each snapshot. ``roots``: where to look for containers.

    None if there are too few, or if no reachable container explains them, since other writes copy pages, too. Only as
    much growth is counted as the pages of that container's items can hold.
    """
    copied = [copies(before, after) for (_, before), (_, after) in pairwise(moments)]
    if sum(each >= MIN_ROUND for each in copied) < MIN_ROUNDS or sum(copied) < MIN_BYTES:
        return None
    pid = os.getpid()
    most = in_fork(lambda: most_copied(roots, pid))
    explained = min(sum(copied), most.bytes)
    if explained < MIN_BYTES:
        return None
    steps = max(1, moments[-1][0] - moments[0][0])
    return CopyOnRead(explained, explained / steps, most.name, most.items, most.share)


def copies(before: PrivateMemory, after: PrivateMemory) -> int:
    """Return the bytes that became private without becoming resident: they were resident before, as the parent's."""
    return max(0, (after.private - before.private) - max(0, after.resident - before.resident))


@dataclass(frozen=True)
class CopiedContainer:
    """A container, and how much of its items' memory a process has copied."""

    name: str = ""
    items: int = 0
    share: float = 0.0  # of the items' pages
    bytes: int = 0  # upper bound: items that were not looked up may share pages


def most_copied(roots: Mapping[str, Any], pid: int) -> CopiedContainer:
    """Return the container of whose items a process has copied most.

    Runs in a fork of that process, since reading the items copies pages, too.
    """
    best = CopiedContainer()
    for name, found in containers(roots):
        pages = pages_of(found)
        share = private_share(pid, pages) or 0.0
        nbytes = int(share * len(pages) * stride_of(found) * os.sysconf("SC_PAGE_SIZE"))
        if nbytes > best.bytes:
            best = CopiedContainer(name, length_of(found), share, nbytes)
    return best


def length_of(container: Any) -> int:
    """Return the length of a list, tuple or dict, without its `__len__`; 0 for another object."""
    return next((kind.__len__(container) for kind in (list, tuple, dict) if is_a(container, kind)), 0)


def stride_of(container: object) -> int:
    """Return the distance between two items that are looked up."""
    return max(1, length_of(container) // MAX_ITEMS)


def pages_of(container: Any) -> set[int]:
    """Return the pages on which a container's items begin. Reading the items copies these pages into this process."""
    keys = dict.keys(container) if is_a(container, dict) else ()
    pages: set[int] = set()
    for item in islice(chain(keys, values_in(container)), 0, None, stride_of(container)):
        pages.add(page_of(id(item)))
        pages.update(page_of(id(part)) for part in islice(values_in(item), 4))
    return pages


def containers(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield large lists, tuples and dicts that the roots reach, with the expression that leads to each."""
    front = list(roots.items())
    seen = set(map(id, roots.values()))
    for _ in range(DEPTH):
        following: list[tuple[str, Any]] = []
        for name, value in front:
            if length_of(value) >= MIN_ITEMS:
                yield name, value
            following += [(inner, one) for inner, one in inside(name, value) if id(one) not in seen]
            seen.update(id(one) for _, one in following)
            if len(seen) > MAX_OBJECTS:
                break
        front = following


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, or the first items of a container."""
    if is_a(value, dict):
        yield from ((f"{name}[{key_text(key)}]", one) for key, one in islice(dict.items(value), 50))
    elif is_a(value, (list, tuple)):
        yield from ((f"{name}[{at}]", one) for at, one in enumerate(islice(values_in(value), 50)))
    elif not is_a(value, ModuleType):
        yield from ((f"{name}.{key}", one) for key, one in list(attributes(value).items()) if type(key) is str)


def key_text(key: object) -> str:
    """Return a key as the program would write it; its class if it is no plain value."""
    return repr(key) if is_exactly(key, (str, int, float, bool, type(None))) else f"<{class_name(key)}>"
