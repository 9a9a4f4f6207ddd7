"""The patch of a finding: the rewrite of its pattern, as a unified diff, where that is safe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradlife.hunting.process.start_folder import is_below_start
from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.rewrites import changes
from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import Confidence, Patch, StoredAt
from gradlife.model.trace import Trace
from gradlife.source.diffs import git_rows, unified


def patch_for(
    code: str, trace: Trace, stored: StoredAt | None, sources: Sequence[Source], growth: Growth = UNKNOWN_GROWTH
) -> Patch | None:
    """Return the patch; None if no safe one is known."""
    if stored is None or stored.confidence is not Confidence.SURE:
        return None
    source = next((one for one in sources if short_path(one.file) == stored.file), None)
    if source is None:
        return None
    for one in changes(code, trace, stored.line, source, sources, growth):
        if (
            one.text is not None and one.source.newline and is_below_start(one.source.file)
        ):  # where a diff can be applied
            before, after = (text.replace("\n", one.source.newline) for text in (one.source.text, one.text))
            return patch_of(short_path(one.source.file), before, after, one.remains)
    return None


def patch_of(file: str, before: str, after: str, remains: str = "") -> Patch:
    """Return the change from one text to the other."""
    rows = unified(file, git_rows(before), git_rows(after))
    ended = (row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)
    return Patch("".join(ended), changed_lines(rows, "-"), changed_lines(rows, "+"), remains)


def changed_lines(rows: Iterable[str], sign: str) -> tuple[str, ...]:
    """Return the lines of a diff with that sign, without the sign and their indentation."""
    return tuple(row[1:].strip() for row in list(rows)[2:] if row.startswith(sign))
