"""`gradlife.on_oom(path)`: a report of who holds the memory, written before the process dies of running out.

It is written after an uncaught out-of-memory exception, when a device's allocator fails, and near the memory limit,
since the kernel kills without warning. Everything is read in forked copies.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import ModuleType, TracebackType
from typing import Any

import gradlife
from gradlife import _heap
from gradlife.errors import UsageError
from gradlife.heap.program_modules import absolute
from gradlife.hunting.process.forked import PATIENCE, in_fork
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.memory_limits import address_limit, fullest, groups_of_process, system_limit, usage
from gradlife.hunting.process.oom_reserve import Reserve
from gradlife.hunting.process.rank import rank_of, write_whole
from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot
from gradlife.model.device.memory import DeviceMemory, DeviceReport, FailedRequest
from gradlife.model.watching.out_of_memory import Growth, HeldByStep, LiveOwner, OutOfMemory, headline
from gradlife.output import say
from gradlife.own_thread import OwnThread
from gradlife.safe_access import LibraryObject, error_text, short_class_name
from gradlife.visible_text import visible_json

#: Seconds between two readings of the process's memory.
INTERVAL = 0.5

#: Near the limit, the next report is due when memory use has grown by this factor.
MORE = 1.03

#: Most types shown, largest growth first.
MOST = 12

#: Most names of owners. The first screen leaves out those that it shows elsewhere.
MAX_OWNERS = 20

#: The message of PyTorch's CUDA allocator, whose observer is called before it raises.
ALLOCATOR_FAILED = re.compile(r"\b(CUDA|HIP) out of memory\. Tried to allocate")

#: The out-of-memory observer of PyTorch's CUDA allocator, if this build has one.
OBSERVE = "_cuda_attach_out_of_memory_observer"


class OnOom:
    """Writes a report when memory runs out, until `close` is called."""

    def __init__(self, path: str, at: float, limit: int | None) -> None:
        rank = rank_of(os.environ)
        self.rank = rank.number if rank is not None else None
        self.path = path if rank is None else f"{path}.{rank.folder}"
        self._target = absolute(self.path)  # the program may change the folder
        self._limit = limit or system_limit()
        self._groups = list(groups_of_process()) if limit is None else []
        self._next = at  # share of the limit at which the next report is due
        self._reserve = Reserve()
        self._start = take_snapshot(0)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = threading.Event()
        self._observed: FailedRequest | None = None  # the failure that the allocator's observer has reported
        self._undo = [hooked(sys, self._main_failed), hooked(threading, self._thread_failed)]
        when_imported("torch", self._observe)
        atexit.register(self._finish)
        OwnThread("gradlife", self._watch).start()

    def close(self) -> None:
        """Stop reporting."""
        atexit.unregister(self._finish)
        self._closed.set()
        for undo in self._undo:
            undo()

    def _finish(self) -> None:
        """Let a report end that is under way as the program ends, and begin no other: a thread would be stopped in the midst
        of it, and Python aborts where it finds one that holds standard error.
        """
        if os.getpid() == self._pid:
            self._closed.set()
            self._lock.acquire(timeout=PATIENCE)

    # --- the moments ---

    def _main_failed(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._failed(error)

    def _thread_failed(self, arguments: threading.ExceptHookArgs) -> None:
        self._failed(arguments.exc_value)

    def _failed(self, error: BaseException | None) -> None:
        """Report an uncaught exception if memory ran out."""
        self._reserve.release()
        from gradlife.hunting.findings.failed_program import is_out_of_memory

        if error is not None and is_out_of_memory(error) and not self._closed.is_set():
            text = error_text(error)
            known = self._observed if ALLOCATOR_FAILED.search(text) else None
            self._write(f"{short_class_name(error)}: {text}".rstrip(": "), error, known, is_printed=known is not None)

    def _observe(self, torch: ModuleType) -> None:
        """Report failures of the CUDA allocator before the program can catch them, once the program initializes CUDA:
        a program without a driver cannot, and one that forks workers must not do so early.
        """
        attach = getattr(getattr(torch, "_C", None), OBSERVE, None)
        call_when_initialized = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
        if attach is not None and call_when_initialized is not None:
            call_when_initialized(lambda: attach(self._device_failed))

    def _device_failed(self, device: int, wanted: int, allocated: int, free: int) -> None:
        if not self._closed.is_set():
            cause = f"CUDA out of memory on device {device}: {wanted:,} bytes wanted, {free:,} bytes free"
            failed = FailedRequest(device, wanted, free)
            self._observed = failed if self._write(cause, failed=failed) else None

    def _watch(self) -> None:
        while not self._closed.wait(INTERVAL):
            resident, address_space = usage(self._pid)
            share = max(resident / self._limit, address_space / address_limit(), fullest(self._groups).share)
            if share >= self._next:
                self._next = share * MORE
                self._reserve.release()
                self._write(f"{share:.0%} of the memory limit is taken")

    # --- the report ---

    def _write(
        self,
        cause: str,
        error: BaseException | None = None,
        failed: FailedRequest | None = None,
        *,
        is_printed: bool = False,
    ) -> bool:
        """Write the report over the previous one, and a line about it unless the failure has one; return whether it is
        written. An error here must not hide the program's.
        """
        if os.getpid() != self._pid or not self._lock.acquire(blocking=False):
            return False
        try:
            write_whole(self._target, visible_json(self._report(cause, error, failed).dumps()))
            if not is_printed:
                self._print(f"{headline(cause)}: who has the memory is in {self.path}")
            return True
        except Exception as own:
            with suppress(OSError, ValueError):
                self._print(f"{self.path} could not be written: {type(own).__name__}")
            return False
        finally:
            self._lock.release()

    def _print(self, text: str) -> None:
        say(f"gradlife: {text}")

    def _report(self, cause: str, error: BaseException | None, failed: FailedRequest | None) -> OutOfMemory:
        now = take_snapshot(0, with_labels=True, collect=Collect.NOTHING)
        owners, devices, growth, held = in_fork(lambda: read(self._start, now, error is not None))
        return OutOfMemory(
            cause=cause,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            pid=self._pid,
            rank=self.rank,
            resident_bytes=usage(self._pid)[0],
            limit_bytes=min(self._limit, int(min(address_limit(), 1 << 62))),
            devices=devices,
            owners=owners,
            growth=growth,
            held=held,
            device_memory=device_memory(failed),
        )


def device_memory(failed: FailedRequest | None) -> tuple[DeviceMemory, ...]:
    """Return who owns the blocks of each device. ``failed``: the request, where the allocator has no history of it."""
    with suppress(UsageError, RuntimeError):  # a device in a bad state must not cost the rest of the report
        found: DeviceReport = gradlife.device_memory(failed)
        return found.devices
    return ()


#: The largest owners, live bytes by device, what grew, and what the failed step holds.
Found = tuple[tuple[LiveOwner, ...], dict[str, int], tuple[Growth, ...], tuple[HeldByStep, ...]]


def read(start: StepSnapshot, now: StepSnapshot, has_failed: bool) -> Found:
    """Read a snapshot that was taken while the exception, if there is one, was alive. Runs in a forked copy."""
    from gradlife.heap.snapshot import Snapshot
    from gradlife.hunting.findings.failed_program import held_by_failure, live_owners

    held = held_by_failure(now.graph) if has_failed else ()
    owners = live_owners(now.graph, MAX_OWNERS)
    return tuple(owners), Snapshot(now.graph, ()).devices(), grown(start.graph, now.graph), tuple(held)


def grown(start: _heap.Graph, now: _heap.Graph) -> tuple[Growth, ...]:
    """Return the types that take more bytes than before, largest growth first."""
    objects, nbytes = Counter[str](), Counter[str]()
    for graph, sign in ((start, -1), (now, 1)):
        for name, _, count, size in graph.census():  # objects of two kinds may have types of one name
            objects[name] += sign * count
            nbytes[name] += sign * size
    found = (Growth(name, objects[name], more) for name, more in nbytes.items() if more > 0)
    return tuple(sorted(found, key=lambda one: -one.bytes)[:MOST])


def hooked(module: LibraryObject, first: Callable[..., None]) -> Callable[[], None]:
    """Make the module's `excepthook` call ``first`` before the original; return a function that undoes this."""
    plain = module.excepthook

    def excepthook(*arguments: Any) -> Any:
        first(*arguments)
        return plain(*arguments)

    def undo() -> None:
        if module.excepthook is excepthook:
            module.excepthook = plain

    module.excepthook = excepthook
    return undo


def on_oom(path: str | os.PathLike[str], *, at: float = 0.9, limit: int | None = None) -> OnOom:
    """Write a report to ``path`` when memory runs out: who holds it, and what grew most since this call.

    It is written after an uncaught MemoryError or out-of-memory error of PyTorch, when a CUDA allocation fails (even if
    the program catches the error), and when the share ``at`` of ``limit`` is used. ``limit`` is in bytes; by default it
    is that of the machine, the control group (with all its processes) or `ulimit -v`. For each device in use the report
    has the owners of all blocks, what fragmentation costs, and what to do. The file is JSON (``gradlife.oom/1``); a rank
    adds its number to the name. Costs one snapshot now, a sleeping thread, and with `ulimit -v` 256 MB of address space.
    Raises UsageError if the file cannot be written.
    """
    if not 0 < at <= 1:
        raise UsageError(f"{at!r} is no share of the memory limit", "on_oom(path, at=0.9)")
    text = os.fspath(path)
    if os.path.isdir(text) or not os.access(os.path.dirname(absolute(text)), os.W_OK):
        raise UsageError(f"cannot write {text}", "on_oom(path) with a file, in a folder that is there")
    return OnOom(text, at, limit)
