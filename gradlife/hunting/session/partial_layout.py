"""What a report may say of a PyTorch that gradlife can read only in part.

What seems to have no holder may have one that could not be read, so such findings are withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradlife.heap.torch_layout.torch import unread_layout
from gradlife.model.hunt import Finding, FindingKind, HuntReport
from gradlife.model.unread_layout import UnreadLayout

#: The findings that say that nothing which can be seen holds something.
WITHOUT_HOLDER = frozenset({FindingKind.NATIVE, FindingKind.NEVER})


def as_far_as_read(report: HuntReport) -> HuntReport:
    """Say what could not be read, and leave out the findings that rest on it. A second time changes nothing."""
    unread = unread_layout()
    if unread is None:
        return report
    left = readable(report.findings, unread)
    withheld = len(report.findings) - len(left) + (report.unread.withheld if report.unread is not None else 0)
    limit = f"of PyTorch {unread.torch}: {', '.join(unread.kinds)} → gradlife doctor"
    limits = tuple(dict.fromkeys([limit, *report.limits]))
    return replace(report, findings=left, unread=replace(unread, withheld=withheld), limits=limits)


def readable(findings: Sequence[Finding], unread: UnreadLayout | None) -> tuple[Finding, ...]:
    """Return the findings that do not rest on what could not be read."""
    is_blind = unread is not None and unread.hides_references
    return tuple(one for one in findings if not is_blind or one.kind not in WITHOUT_HOLDER)
