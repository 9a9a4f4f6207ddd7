"""Statements that compute a place from what it held before: `self.hidden = self.cell(x, self.hidden.detach())`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradlife.hunting.stores.cuts import mentions, where
from gradlife.hunting.stores.place import places_outward
from gradlife.hunting.stores.place_statements import assigns, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, statements
from gradlife.model.trace import Trace


def carried_at(trace: Trace, sources: Sequence[Source]) -> str:
    """Return where the program computes what is at the trace's nearest place from what was there: ``train.py:35``; else ""."""
    _, place = next(places_outward(trace.steps, len(trace.steps) - 2), (0, None))
    if place is None:
        return ""
    files = [source for source in sources if may_mention(source.text, place)]
    for one in (one for source in files for one in statements(source.tree.body, Scope(source))):
        value = one.node.value if isinstance(one.node, ast.Assign | ast.AnnAssign) else None
        if value is not None and assigns(one.node, one.scope, place) and mentions(value, one.scope, place):
            return where(one)
    return ""
