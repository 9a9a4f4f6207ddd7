"""The watching process: starts the program in a child, reads the reports that the child announces, and passes signals on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import ClassVar, Generic, TypeVar

from gradlife.descriptors import pipe
from gradlife.hunting.process.interrupts import held
from gradlife.hunting.process.own_folders import OwnFolder
from gradlife.hunting.process.settings import ANSWER, Settings
from gradlife.model.codec import CodecError
from gradlife.program.progress import BEGUN, Viewer, load_progress
from gradlife.readable import readable

Report = TypeVar("Report")

#: Seconds between two looks at the child.
INTERVAL = 0.1

#: Seconds between two questions how far the program is.
PROGRESS_INTERVAL = 0.5

#: Signals passed on to the program. A terminal sends its own to the child as well.
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

START = "import sys; from gradlife.program.child import main; sys.exit(main())"


@dataclass(frozen=True)
class Result(Generic[Report]):
    """The exit status of the program, and the last report that it left."""

    status: int  # as in a shell: 128 plus the signal that killed it
    report: Report | None
    was_killed: bool = False


def signal_of(status: int) -> str:
    """Return the name of the signal that a shell's exit status stands for."""
    try:
        return signal.Signals(status - 128).name
    except ValueError:
        return f"signal {status - 128}"


class Guard(ABC, Generic[Report]):
    """Runs and watches one program. A method has a subclass, which reads the method's reports."""

    #: The first letters of the name of its temporary folder, and the moment at which its answer is known.
    prefix: ClassVar[str]
    answer: ClassVar[str] = ANSWER

    def __init__(
        self,
        settings: Settings,
        on_answer: Callable[[Report], object],
        is_quiet: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
        folder: str | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        self._silence = subprocess.DEVNULL if is_quiet else None  # in place of the input and output of a repeated run
        self._settings = settings
        self._on_answer = on_answer
        self._meanwhile = meanwhile  # called once the program runs
        self._folder = folder  # where the reports stay; None: in a temporary folder
        self._viewer = viewer or Viewer()
        self._heard = b""  # the beginning of a line
        self._next_question = 0.0
        self._latest: Report | None = None

    def run(self) -> Result[Report]:
        """Run the program to its end; return its result."""
        with contextlib.nullcontext(self._folder) if self._folder is not None else OwnFolder(self.prefix) as folder:
            child_end, requests = pipe()
            channel, child_channel = pipe()
            settings = replace(self._settings, folder=folder, channel=child_channel, requests=child_end)
            with passing_on() as forward:
                with held():
                    child = subprocess.Popen(
                        command(settings),
                        pass_fds=(child_end, child_channel),
                        stdin=self._silence,
                        stdout=self._silence,
                        stderr=self._silence,
                        env=self._environment(),
                    )
                forward(child)
                os.close(child_end)
                os.close(child_channel)
                self._begin(child.pid)
                self._meanwhile()
                self._watch(child, channel, requests, folder)
            os.close(channel)
            os.close(requests)
            status = child.returncode if child.returncode >= 0 else 128 - child.returncode
            return Result(status, self._last_report(child.returncode, folder), was_killed=child.returncode < 0)

    def _watch(self, child: subprocess.Popen[bytes], channel: int, requests: int, folder: str) -> None:
        is_open = True
        while child.poll() is None:
            self._attend(child.pid, requests)
            self._look_on(requests)
            if is_open and readable([channel], INTERVAL):
                is_open = self._hear(channel, folder)
            elif not is_open:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(INTERVAL)
        while is_open and readable([channel], 0):  # left processes may keep it open
            is_open = self._hear(channel, folder)

    def _hear(self, channel: int, folder: str) -> bool:
        """Read lines, and the reports that they announce; return False at the end."""
        text = os.read(channel, 4096)
        *lines, self._heard = (self._heard + text).split(b"\n")
        for line in lines:
            self._hear_line(line.decode(), folder)
        return bool(text)

    def _hear_line(self, line: str, folder: str) -> None:
        if line == BEGUN:
            self._viewer.see_start()
        elif line.startswith("{"):
            self._viewer.see(load_progress(line))
        elif (report := self.read_report(folder, line)) is not None:
            self._latest = report
            if line == self.answer:
                self._on_answer(report)

    def _look_on(self, requests: int) -> None:
        """Let the viewer see time pass, and ask how far the program is from time to time."""
        self._viewer.wait(self._resident())
        if self._viewer.wants_progress and time.monotonic() >= self._next_question:
            self._next_question = time.monotonic() + PROGRESS_INTERVAL
            self._ask(requests)

    def _resident(self) -> int:
        """Return the resident bytes of the program; 0 if they are unknown."""
        return 0

    def _ask(self, requests: int) -> None:
        """Ask how far the program is. A method whose process tells it by itself need not ask."""

    def _environment(self) -> dict[str, str] | None:
        """Return the environment of the program; None: this process's."""
        return None

    def _begin(self, pid: int) -> None:
        """Prepare for watching the program, which has just started."""

    def _attend(self, pid: int, requests: int) -> None:
        """Look at the running program. A byte that is written to ``requests`` asks for an interim report."""

    @abstractmethod
    def _last_report(self, code: int, folder: str) -> Report | None:
        """Return the report of the program that has ended. ``code``: as `subprocess` gives it."""

    @staticmethod
    @abstractmethod
    def decode(text: str) -> Report:
        """Decode a report; CodecError if it is none."""

    @classmethod
    def read_report(cls, folder: str, moment: str) -> Report | None:
        """Return the report of a moment; None if there is none."""
        try:
            with open(os.path.join(folder, moment), encoding="utf-8") as file:
                return cls.decode(file.read())
        except (OSError, CodecError):
            return None


def command(settings: Settings) -> list[str]:
    """Return the command that starts the child: the same interpreter with the same options, and the program's."""
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *options, *settings.python, "-c", START, settings.dump()]


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
