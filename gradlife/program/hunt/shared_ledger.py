"""The shared memory of a hunted program in its report: the ledger of the watching process, and a finding for what is left."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, replace

from gradlife.hunting.process.rank import write_whole
from gradlife.hunting.process.shared_memory import CUDA_IPC, FILE_SYSTEM
from gradlife.model.from_json import built, document_text, parsed
from gradlife.model.hunt import Advice, Amounts, Diagnosis, Finding, FindingKind, HuntReport, Severity
from gradlife.model.ranks import SHARED_MEMORY, SharedLedger, SharedLeftover
from gradlife.model.trace import Ledger, Lifetime, Trace

#: The file with the ledger, in the hunt's folder.
LEDGER = "shared_memory.json"

#: The code of shared memory that stays.
CODE = "GL901"

#: Less left shared memory is minor: it is machine memory, but a small part of it.
MIN_MAJOR = 64 << 20

REASON = "No process has it mapped, and nothing removes it before the machine restarts: it takes memory as a file does."
REMOVE = (
    "Call `unlink()` on the SharedMemory in the process that made it, also if it fails, and let its children end first."
)
ORDER = (
    "Join the processes that share tensors before the program ends, and do not kill them: torch's manager removes the files. "
    "The sharing strategy `file_descriptor` leaves none."
)

RELEASE = (
    "Let the receivers drop the CUDA tensors, or end them, before the process ends that sent the tensors. Until then the sender "
    "keeps the memory of each."
)


def leave_ledger(folder: str, ledger: SharedLedger) -> None:
    """Write the ledger to the hunt's folder, if anything was shared."""
    if ledger != SharedLedger():
        with suppress(OSError):
            write_whole(os.path.join(folder, LEDGER), json.dumps(asdict(ledger)))


def with_shared_memory(report: HuntReport, folder: str) -> HuntReport:
    """Add the ledger in the folder to a report, and a finding for what the program left behind."""
    try:
        ledger: SharedLedger = built(SharedLedger, parsed(document_text(os.path.join(folder, LEDGER))))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return report
    is_known = any(one.trace.object == SHARED_MEMORY for one in report.findings)
    found = [leftover_finding(ledger.leftovers)] if ledger.leftovers and not is_known else []
    order = sorted([*report.findings, *found], key=lambda one: list(Severity).index(one.severity))
    return replace(report, shared_memory=ledger, findings=tuple(order))


def leftover_finding(left: tuple[SharedLeftover, ...]) -> Finding:
    """Build the finding of files in /dev/shm that no process uses any more."""
    nbytes = sum(one.bytes for one in left)
    kinds = {one.kind for one in left}
    what = {FILE_SYSTEM: ORDER, CUDA_IPC: RELEASE}.get(kinds.pop(), REMOVE) if len(kinds) == 1 else REMOVE
    advice = Advice(what, "rm " + " ".join(one.path for one in left[:2]))
    title = "Shared memory is left after the last process has ended"
    return Finding(
        FindingKind.RETAINED,
        Lifetime.NEVER,
        Diagnosis(CODE, title, REASON, advice),
        Trace(SHARED_MEMORY, left[0].path, Lifetime.NEVER, (), (), Ledger(0, ())),
        Amounts(),
        survivors=len(left),
        retained_bytes=nbytes,
        fingerprint=f"shared-memory:{left[0].kind}",
        severity=Severity.MAJOR if nbytes >= MIN_MAJOR else Severity.MINOR,
    )
