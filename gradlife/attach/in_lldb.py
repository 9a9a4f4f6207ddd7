"""Runs inside lldb: makes a process run one expression, and detaches. `in_debugger.py` explains how.

lldb 14 does not show `orig_rax`, so the system call of a sleeping thread is read from /proc, and entered again by hand.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import Any

import lldb  # type: ignore[import-not-found,import-untyped,unused-ignore]

sys.path.insert(0, os.environ["GRADLIFE_FOLDER"])
from in_debugger import REGISTERS, SYSCALL, Failed, Registers, run, tell  # type: ignore[import-not-found]

del sys.path[0]

PID = int(os.environ["GRADLIFE_PID"])

#: The results of interrupted system calls that the kernel would start again: ERESTARTSYS,
#: ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
RESTARTS = frozenset({512, 513, 514, 516})

#: After 516 the kernel continues the call by another system call, restart_syscall.
RESTART_BLOCK, RESTART_CALL = 516, 219

#: Signals that stop the process: SIGTRAP, SIGSTOP, and SIGURG, by which the parent interrupts.
STOPS = frozenset({5, 19, 23})

#: The key of the entry point in the auxiliary vector.
AT_ENTRY = 9


class Lldb:
    """The process, and the thread that was selected."""

    def __init__(self, target: Any, process: Any) -> None:
        self._target = target
        self._process = process
        self._thread = process.GetThreadAtIndex(0)

    def address_of(self, name: str) -> int:
        """Return the address of a function or variable."""
        return self._addresses_of(name)[0]

    def _addresses_of(self, name: str) -> list[int]:
        symbols = [context.GetSymbol() for context in self._target.FindSymbols(name)]
        found = [one.GetStartAddress().GetLoadAddress(self._target) for one in symbols]
        known = [int(address) for address in found if address != lldb.LLDB_INVALID_ADDRESS]
        if not known:
            raise Failed(f"it has no function {name}")
        return known

    def register(self, name: str) -> int:
        """Return a register."""
        return int(self._register(name).GetValueAsUnsigned())

    def save(self) -> Registers:
        """Return the registers, so changed that a thread in an interrupted system call enters it again."""
        found = {name: self.register(name) for name in REGISTERS}
        number, result = self.system_call(), (1 << 64) - found["rax"]
        if number >= 0 and result in RESTARTS:
            again = RESTART_CALL if result == RESTART_BLOCK else number
            return {**found, "rip": found["rip"] - len(SYSCALL), "rax": again}
        return found

    def load(self, registers: Registers) -> None:
        """Set registers."""
        for name, value in registers.items():
            if not self._register(name).SetValueFromCString(hex(value)):
                raise Failed(f"lldb cannot set {name}")

    restore = load

    def read(self, at: int, size: int) -> bytes:
        """Read memory."""
        error = lldb.SBError()
        content = self._process.ReadMemory(at, size, error)
        if error.Fail():
            raise Failed(f"its memory cannot be read: {error}")
        return bytes(content)

    def write(self, at: int, content: bytes) -> None:
        """Write memory."""
        error = lldb.SBError()
        self._process.WriteMemory(at, content, error)
        if error.Fail():
            raise Failed(f"its memory cannot be written: {error}")

    def select_main(self) -> bool:
        """Select the main thread."""
        self._thread = self._process.GetThreadByID(PID)
        return bool(self._thread.IsValid())

    def system_call(self) -> int:
        """Return the number of the system call."""
        try:
            with open(f"/proc/{PID}/task/{self._thread.GetThreadID()}/syscall", encoding="ascii") as file:
                return int(file.read().split()[0])
        except (OSError, ValueError):  # it runs
            return -1

    def run_to(self, address: int) -> None:
        """Let the process run until the selected thread is at an address."""
        number = self._thread.GetThreadID()
        stop = self._target.BreakpointCreateByAddress(address)
        try:
            while True:
                self._proceed()
                self._thread = self._process.GetThreadByID(number)
                if self.register("rip") == address:
                    return
        finally:
            self._target.BreakpointDelete(stop.GetID())

    def wait_at(self, name: str) -> bool:
        """Let the process run until a thread enters a function of this name in any library."""
        addresses = self._addresses_of(name)
        stops = [self._target.BreakpointCreateByAddress(address) for address in addresses]
        try:
            self._proceed()
        finally:
            for stop in stops:
                self._target.BreakpointDelete(stop.GetID())
        for thread in self._process:
            is_there = thread.GetFrameAtIndex(0).GetPC() in addresses
            if is_there and thread.GetStopReason() == lldb.eStopReasonBreakpoint:
                self._thread = thread
                return True
        return False

    def entry_point(self) -> int:
        """Return the address of the program's first instruction."""
        with open(f"/proc/{PID}/auxv", "rb") as file:
            pairs: dict[int, int] = dict(struct.iter_unpack("QQ", file.read()))
        return pairs[AT_ENTRY]

    def function(self) -> str:
        """Return the function that the selected thread is in."""
        return self._thread.GetFrameAtIndex(0).GetFunctionName() or ""

    def _register(self, name: str) -> Any:
        return self._thread.GetFrameAtIndex(0).FindRegister(name)

    def _proceed(self) -> None:
        self._process.Continue()
        if self._process.GetState() != lldb.eStateStopped:
            raise Failed("it ended meanwhile")


def main() -> None:
    """Attach, run the expression, detach."""
    debugger = lldb.SBDebugger.FindDebuggerWithID(1) if not lldb.debugger else lldb.debugger
    debugger.SetAsync(False)
    target, error = debugger.CreateTarget(""), lldb.SBError()
    process = target.AttachToProcessWithID(debugger.GetListener(), PID, error)
    if error.Fail():
        tell(f"failed {error}")
        return
    signals = process.GetUnixSignals()
    for index in range(signals.GetNumSignals()):
        number = signals.GetSignalAtIndex(index)
        signals.SetShouldStop(number, number in STOPS)
        signals.SetShouldSuppress(number, number in STOPS)
    try:
        tell(run(Lldb(target, process), os.environ["GRADLIFE_TEXT"]))
    except Failed as error:
        tell(f"failed {error}")
    finally:
        process.Detach()


main()
sys.stdout.flush()
