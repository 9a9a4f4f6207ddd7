"""The answer of Python-level tools for a subject that is never freed: a chain to a module, a dead end, or nothing."""

from __future__ import annotations

import gc
import importlib
import sys
import types
from typing import Any

ROOT = "root"  # a chain of referrers leads to a module
DEAD_END = "dead end"  # referrers, but none of them leads to a module
NOTHING = "nothing"  # no referrer

#: Most objects whose referrers are searched. A subject that needs more is inconclusive.
MAX_VISITED = 60
#: objgraph's default.
LONGEST_CHAIN = 20


def referrers_of(subject: Any) -> str:
    """Follow `gc.get_referrers` from a subject. Return `ROOT`, `DEAD_END` or `NOTHING`; "inconclusive" beyond the
    limit.
    """
    ignored = own_ids()
    queue = [subject]
    ignored.add(id(queue))
    visited = set()
    has_referrer = False
    for _ in range(MAX_VISITED):
        if not queue:
            return DEAD_END if has_referrer else NOTHING
        target = queue.pop(0)
        visited.add(id(target))
        found = gc.get_referrers(target)
        ignored.add(id(found))
        for referrer in found:
            if is_module(referrer):
                return ROOT
            if id(referrer) in ignored:
                continue
            has_referrer = True
            if id(referrer) not in visited:
                visited.add(id(referrer))
                queue.append(referrer)
        del target, found
    return "inconclusive"


def objgraph_chain(subject: Any) -> str | None:
    """Run `objgraph.find_backref_chain` on a subject. Return the same values; None without objgraph."""
    try:
        objgraph = importlib.import_module("objgraph")
    except ImportError:
        return None
    ignored = own_ids()
    chain = objgraph.find_backref_chain(subject, is_module, max_depth=LONGEST_CHAIN, extra_ignore=ignored)
    if is_module(chain[0]):
        return ROOT
    referrers = [referrer for referrer in gc.get_referrers(subject) if id(referrer) not in ignored]
    return DEAD_END if any(referrer is not chain for referrer in referrers) else NOTHING


def is_module(obj: Any) -> bool:
    """Whether this is an importable module, which is a root for objgraph, too."""
    return isinstance(obj, types.ModuleType) and sys.modules.get(obj.__name__) is obj


def own_ids() -> set[int]:
    """Return ids of the calling frames, which refer to the subject only because of the query."""
    ids: set[int] = set()
    frame = sys._getframe()
    while frame is not None:
        ids.add(id(frame))
        frame = frame.f_back  # type: ignore[assignment]
    return ids
