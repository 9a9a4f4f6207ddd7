"""The watching process: starts the program in a child, watches its memory, and reports if the child is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType

from gradlife.descriptors import pipe
from gradlife.hunting.process.interrupts import held
from gradlife.hunting.process.memory_limits import Memory
from gradlife.hunting.process.own_folders import HUNT, OwnFolder
from gradlife.hunting.process.settings import Settings, was_refused
from gradlife.hunting.process.shared_memory import SharedMemoryWatch, files_there
from gradlife.hunting.process.start_folder import environment
from gradlife.hunting.workers.merge import with_workers
from gradlife.model import hunt_codec
from gradlife.model.codec import CodecError
from gradlife.model.hunt import LEFT_NONE, HuntReport
from gradlife.program.hunt.shared_ledger import leave_ledger, with_shared_memory
from gradlife.readable import readable

#: Seconds between two readings of the child's memory.
INTERVAL = 0.1

#: Signals passed on to the program. A terminal sends its own to the child as well.
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

#: How a program can end without a report, and when a signal killed it that left none.
HOW_LOST = "it became another program (os.exec), or C code ended it"
TOO_EARLY = "before enough steps were seen"

START = "import sys; from gradlife.{} import main; sys.exit(main())"


@dataclass(frozen=True)
class Result:
    """The exit status of the program, and the last report that it left."""

    status: int  # as in a shell: 128 plus the signal that killed it
    report: HuntReport | None
    was_killed: bool


def signal_of(status: int) -> str:
    """Return the name of the signal that a shell's exit status stands for."""
    try:
        return signal.Signals(status - 128).name
    except ValueError:
        return f"signal {status - 128}"


class Guard:
    """Runs and watches one program."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        on_answer: Callable[[HuntReport], None],
        is_quiet: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
        folder: str | None = None,
    ) -> None:
        self._silence = subprocess.DEVNULL if is_quiet else None  # in place of the input and output of a repeated run
        self._settings = settings
        self._memory = memory
        self._on_answer = on_answer
        self._meanwhile = meanwhile  # called once the program runs
        self._folder = folder  # where the reports stay; None: in a temporary folder
        self._latest: HuntReport | None = None

    def run(self) -> Result:
        """Run the program to its end; return its result."""
        with self._reports() as folder:
            child_end, requests = pipe()
            channel, child_channel = pipe()
            settings = replace(self._settings, folder=folder, channel=child_channel, requests=child_end)
            before = {key for key, _ in files_there()}
            with passing_on() as forward:
                with held():
                    child = subprocess.Popen(
                        command(settings),
                        pass_fds=(child_end, child_channel),
                        stdin=self._silence,
                        stdout=self._silence,
                        stderr=self._silence,
                        env=environment(),
                    )
                forward(child)
                os.close(child_end)
                os.close(child_channel)
                self._meanwhile()
                shared = SharedMemoryWatch(child.pid, before)
                self._watch(child, channel, requests, folder, shared)
            os.close(channel)
            os.close(requests)
            self._latest = self._latest or left_report(folder) or self._without_report(child.returncode, folder)
            shared.add_noted(folder)
            leave_ledger(folder, shared.ledger())
            if self._latest is not None:
                self._latest = with_shared_memory(with_workers(self._latest, folder), folder)
            return self._result(child.returncode)

    def _reports(self) -> contextlib.AbstractContextManager[str]:
        if self._folder is not None:
            return contextlib.nullcontext(self._folder)
        return OwnFolder(HUNT)

    def _watch(
        self, child: subprocess.Popen[bytes], channel: int, requests: int, folder: str, shared: SharedMemoryWatch
    ) -> None:
        is_open = True
        while child.poll() is None:
            shared.look_if_due()
            if is_open and readable([channel], INTERVAL):
                is_open = self._hear(channel, folder)
            elif not is_open:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(INTERVAL)
            if self._memory.is_time(child.pid):
                with contextlib.suppress(OSError):
                    os.write(requests, b"?")
        while is_open and readable([channel], 0):  # left processes may keep it open
            is_open = self._hear(channel, folder)

    def _hear(self, channel: int, folder: str) -> bool:
        """Read one message, and the reports that it announces; return False at the end."""
        text = os.read(channel, 4096)
        for moment in text.decode().split():
            report = read_report(os.path.join(folder, moment))
            if report is not None:
                self._latest = report
                if moment == "answer":
                    self._on_answer(report)
        return bool(text)

    def _without_report(self, code: int, folder: str) -> HuntReport | None:
        """Return the report of a program that left none: it crashed, or was killed, too early, or became another program.
        None if its process has printed why it did not run.
        """
        if was_refused(folder):
            return None
        ended = f"the program ended with exit status {code} and {LEFT_NONE}: {HOW_LOST}"
        status, trouble = (code, ended) if code >= 0 else (None, TOO_EARLY)
        return HuntReport(self._settings.target, "", 0, (), (), script_status=status, trouble=trouble)

    def _result(self, code: int) -> Result:
        if code >= 0:
            return Result(code, self._latest, was_killed=False)
        report = self._latest
        if report is not None:
            early = f" {TOO_EARLY}" if report.trouble == TOO_EARLY else ""
            report = replace(report, trouble=f"killed by signal {-code} at {self._memory.words}{early}")
        return Result(128 - code, report, was_killed=True)


def command(settings: Settings) -> list[str]:
    """Return the command that starts the child: the same interpreter with the same options."""
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    part = "interactive.child" if settings.is_interactive else "program.hunt.processes"
    return [sys.executable, *options, "-c", START.format(part), settings.dump()]


def read_report(path: str) -> HuntReport | None:
    """Read a report file; None if it holds no report."""
    try:
        with open(path, encoding="utf-8") as file:
            return hunt_codec.loads(file.read())
    except (OSError, CodecError):
        return None


def left_report(folder: str) -> HuntReport | None:
    """Return the last report of a launched process, which has no channel to this one."""
    found = (read_report(os.path.join(folder, moment)) for moment in ("end", "answer", "interim"))
    return next((report for report in found if report is not None), None)


def is_heard(number: int) -> bool:
    """Whether a signal is not ignored, and no handler that Python does not know is there."""
    return signal.getsignal(number) not in {signal.SIG_IGN, None}


@contextlib.contextmanager
def passing_on() -> Iterator[Callable[[subprocess.Popen[bytes]], object]]:
    """Pass signals to this process on to the child; a keyboard interrupt reaches the child anyway. Yields the function
    that gets the child.

    A signal that is ignored, as `nohup` and a shell's `&` do it, stays so: the program inherits that. It would not inherit a
    handler, and the signal would end it. A thread passes them on: a handler of Python does not run while this process waits,
    if the signal came just before the wait.
    """
    forwarding = Forwarding()
    heard, wakes = os.pipe()
    os.set_blocking(wakes, False)
    handled = [number for number in (*PASSED_ON, signal.SIGINT) if is_heard(number)]
    before = {number: signal.signal(number, nothing) for number in handled}
    earlier = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    thread = threading.Thread(target=forwarding.run, args=(heard,), name="gradlife signals", daemon=True)
    thread.start()
    try:
        yield forwarding.add
    finally:
        signal.set_wakeup_fd(earlier)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.write(wakes, bytes(1))  # ends the thread, also if a copy of this process has the pipe, too
        thread.join()
        os.close(wakes)
        os.close(heard)


def nothing(number: int, frame: FrameType | None) -> None:
    """Stay, as a handler of signals that a thread passes on."""


class Forwarding:
    """Sends signals to a child, also those that come before there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: list[subprocess.Popen[bytes]] = []
        self._early: list[int] = []

    def add(self, child: subprocess.Popen[bytes]) -> None:
        """Send signals to this child from now on."""
        with self._lock:
            self._children.append(child)
            for number in self._early:
                child.send_signal(number)

    def run(self, heard: int) -> None:
        """Send each signal whose number can be read, until the number is 0."""
        while number := int.from_bytes(os.read(heard, 1)):
            with self._lock:
                if not self._children:  # an interrupt of the terminal does not reach a child that is not there yet
                    self._early.append(number)
                for child in self._children if number in PASSED_ON else ():
                    child.send_signal(number)
