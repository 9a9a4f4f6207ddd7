"""What Python-level tools find when they search for the holders of a subject that is never freed.

The answer is `ROOT`, `DEAD_END` or `NOTHING`, if the search comes to an end.
"""

from __future__ import annotations

import gc
import importlib
import sys
import types
from typing import Any

ROOT = "root"  # a chain of referrers leads to a module
DEAD_END = "dead end"  # there are referrers, but none of them leads to a module
NOTHING = "nothing"  # there are no referrers

#: Number of objects whose referrers are searched before the search is inconclusive.
MAX_VISITED = 60
#: Maximum length of objgraph's chain; objgraph's own default.
LONGEST_CHAIN = 20


def referrers_of(subject: Any) -> str:
    """Search breadth-first with `gc.get_referrers`. Return `ROOT`, `DEAD_END`, `NOTHING`, or "inconclusive" after
    `MAX_VISITED` objects.
    """
    ignored = frame_ids()
    queue = [subject]
    ignored.add(id(queue))
    queued = {id(subject)}
    has_referrer = False
    for _ in range(MAX_VISITED):
        if not queue:
            return DEAD_END if has_referrer else NOTHING
        target = queue.pop(0)
        for referrer in gc.get_referrers(target):
            if is_module(referrer):
                return ROOT
            if id(referrer) in ignored:
                continue
            has_referrer = True
            if id(referrer) not in queued:
                queued.add(id(referrer))
                queue.append(referrer)
    return "inconclusive"


def objgraph_chain(subject: Any) -> str | None:
    """Search with `objgraph.find_backref_chain`. Return `ROOT`, `DEAD_END`, `NOTHING`, or None if objgraph is not
    installed.
    """
    try:
        objgraph = importlib.import_module("objgraph")
    except ImportError:
        return None
    ignored = frame_ids()
    chain = objgraph.find_backref_chain(subject, is_module, max_depth=LONGEST_CHAIN, extra_ignore=ignored)
    far_end = chain[0]  # a module if one was found, else the subject
    if is_module(far_end):
        return ROOT
    referrers = [referrer for referrer in gc.get_referrers(subject) if id(referrer) not in ignored]
    has_referrer = any(referrer is not chain for referrer in referrers)  # `chain` itself refers to the subject
    return DEAD_END if has_referrer else NOTHING


def is_module(obj: Any) -> bool:
    """Whether this is a module in `sys.modules`. objgraph uses the same test for a root."""
    return isinstance(obj, types.ModuleType) and sys.modules.get(obj.__name__) is obj


def frame_ids() -> set[int]:
    """Return the ids of all frames on the call stack. The search ignores them, because it is itself a part of the stack."""
    ids: set[int] = set()
    frame = sys._getframe()
    while frame is not None:
        ids.add(id(frame))
        frame = frame.f_back  # type: ignore[assignment]
    return ids
