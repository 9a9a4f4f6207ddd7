"""The rows of a patch, as every report of a hunt shows them."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import Finding
from gradlife.reports.theme import BAD, GOOD

#: Styles of the rows by their signs.
STYLES = {"-": BAD, "+": GOOD, " ": ""}

#: Lines of a unified diff that name its files.
HEADS = ("--- ", "+++ ")


def changed_rows(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield sign and text of each changed line; a line that is only added comes with the statement beside it."""
    patch, stored = finding.patch, finding.stored_at
    if patch is None:
        return
    rows = [row for row in patch.diff.splitlines() if row[:1] in ("+", "-", " ") and not row.startswith(HEADS)]
    if not rows:
        rows = [*(f"-{line}" for line in patch.removed), *(f"+{line}" for line in patch.added)]
    source = stored.source if stored is not None and not patch.removed else ""
    for number, row in enumerate(rows):
        beside = [*rows[max(0, number - 1) : number], *rows[number + 1 : number + 2]]
        is_beside = source and row.strip() == source and any(one.startswith("+") for one in beside)
        if row[0] != " " or is_beside:
            yield row[0], row[1:].strip()
