"""The finding of shared memory that each step makes, closes and never unlinks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.hunting.findings.diagnosis import finding
from gradlife.hunting.growth.rates import are_even
from gradlife.hunting.growth.reachable_growth import ROUNDS, far_apart
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.node_weights import MIN_PLAIN_BYTES
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.hunt import Advice, Amounts, Diagnosis, Finding, FindingKind
from gradlife.model.ranks import SHARED_MEMORY
from gradlife.model.trace import Ledger, Lifetime, Trace

#: The code of shared memory that stays.
CODE = "GL901"

REASON = (
    "Each step makes a block of shared memory, closes it and does not unlink it. A block takes memory, as a file of /dev/shm "
    "does, until its unlink() or the end of the program."
)
ADVICE = "Call unlink() when the last process has closed the block: in the process that reads it, or in the one that made it."


def shared_file_findings(snapshots: Sequence[StepSnapshot], creation_sites: CreationSites) -> Iterator[Finding]:
    """Yield the finding if each of the last rounds left about as many more files for each step."""
    judged = far_apart(snapshots)[-ROUNDS - 1 :]
    steps = [after.steps - before.steps for before, after in itertools.pairwise(judged)]
    counts, sizes = ([getattr(one.shared_files, name) for one in judged] for name in ("count", "bytes"))
    more = [after - before for before, after in itertools.pairwise(counts)]
    if len(judged) <= ROUNDS or not are_even(more, steps) or sizes[-1] - sizes[0] < MIN_PLAIN_BYTES * sum(steps):
        return
    nbytes = (sizes[-1] - sizes[0]) / sum(steps)
    trace = Trace(SHARED_MEMORY, judged[-1].shared_files.example, Lifetime.NEVER, (), (), Ledger(0, ()))
    one = finding(
        FindingKind.NATIVE,
        Lifetime.NEVER,
        trace,
        Amounts(bytes=nbytes, retained_bytes=nbytes),
        survivors=counts[-1] - counts[0],
        retained_bytes=sizes[-1],
        executed=creation_sites.executed,
    )
    if one.stored_at is None:  # they may be another program's
        return
    diagnosis = Diagnosis(
        CODE, "shared memory is made at each step and never unlinked", REASON, Advice(ADVICE, "block.unlink()")
    )
    yield replace(one, diagnosis=diagnosis, fingerprint=f"shared-memory:{one.stored_at.function}")
