"""Growth of a forked worker by copies of pages that it only reads: CPython writes a reference count with each read.

The pages belong to objects that the parent made, so no object is new and malloc gives out nothing. They are counted as the
system counts them: private bytes more, resident bytes not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.process.private_pages import PrivateMemory, page_of, private_share
from gradlife.model.ranks import CopyOnRead

#: Bytes of copies that are worth a word, in all and per round.
LEAST_BYTES, LEAST_ROUND = 1 << 20, 64 << 10

#: Rounds that copies must come in.
LEAST_ROUNDS = 3

#: A container of fewer items is none that workers copy much of.
LEAST_ITEMS = 1000

#: Items whose pages are looked up.
MOST_ITEMS = 20_000

#: Objects that are opened in search of containers, and how deep.
MOST_OBJECTS, DEPTH = 2000, 4

#: Memory after a step of the hunt.
Moments = Sequence[tuple[int, PrivateMemory]]


def copy_on_read(moments: Moments, roots: Mapping[str, Any]) -> CopyOnRead | None:
    """Copies by a worker, from its memory after each snapshot. ``roots``: where it reads.

    None where there are too few, and where no container within reach explains them: other writes copy pages, too. Of the
    growth only what the pages of that container's items can be is counted.
    """
    copied = [copies(before, after) for (_, before), (_, after) in pairwise(moments)]
    if sum(each >= LEAST_ROUND for each in copied) < LEAST_ROUNDS or sum(copied) < LEAST_BYTES:
        return None
    pid = os.getpid()
    most = in_fork(lambda: most_copied(roots, pid))
    explained = min(sum(copied), most.bytes)
    if explained < LEAST_BYTES:
        return None
    steps = max(1, moments[-1][0] - moments[0][0])
    return CopyOnRead(explained, explained / steps, most.name, most.items, most.share)


def copies(before: PrivateMemory, after: PrivateMemory) -> int:
    """Bytes that became private without becoming resident: they were resident before, as the parent's."""
    return max(0, (after.private - before.private) - max(0, after.resident - before.resident))


@dataclass(frozen=True)
class CopiedContainer:
    """A container, and how much of its items' memory a process has copied."""

    name: str = ""
    items: int = 0
    share: float = 0.0  # of the items' pages
    bytes: int = 0  # at most: items that were not looked up may share pages


def most_copied(roots: Mapping[str, Any], pid: int) -> CopiedContainer:
    """The container of whose items a process has copied most.

    Called in a copy of that process: what reading the items writes is the copy's own.
    """
    best = CopiedContainer()
    for name, found in containers(roots):
        pages = pages_of(found)
        share = private_share(pid, pages) or 0.0
        nbytes = int(share * len(pages) * stride_of(found) * os.sysconf("SC_PAGE_SIZE"))
        if nbytes > best.bytes:
            best = CopiedContainer(name, len(found), share, nbytes)
    return best


def stride_of(container: Any) -> int:
    """Return the distance between items that are looked up."""
    return max(1, len(container) // MOST_ITEMS)


def pages_of(container: Any) -> set[int]:
    """The pages that items of a container begin in, read once, so that this process has copies of its own."""
    values = chain(container, container.values()) if isinstance(container, dict) else container
    pages: set[int] = set()
    for item in islice(values, 0, None, stride_of(container)):
        pages.add(page_of(id(item)))
        if isinstance(item, (tuple, list)):
            pages.update(page_of(id(part)) for part in item[:4])
        elif isinstance(item, dict):
            pages.update(page_of(id(part)) for part in islice(item.values(), 4))
    return pages


def containers(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Large lists, tuples and dicts within reach of the roots, by the expression that leads to each."""
    front = list(roots.items())
    seen = set(map(id, roots.values()))
    for _ in range(DEPTH):
        following: list[tuple[str, Any]] = []
        for name, value in front:
            if isinstance(value, (list, tuple, dict)) and len(value) >= LEAST_ITEMS:
                yield name, value
            following += [(inner, one) for inner, one in inside(name, value) if id(one) not in seen]
            seen.update(id(one) for _, one in following)
            if len(seen) > MOST_OBJECTS:
                break
        front = following


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object of the program, or the items of a small container."""
    if isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", one) for key, one in islice(value.items(), 50))
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}[{at}]", one) for at, one in enumerate(value[:50]))
    elif not isinstance(value, type(sys)):
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return
        yield from ((f"{name}.{key}", one) for key, one in list(own.items()) if isinstance(key, str))
