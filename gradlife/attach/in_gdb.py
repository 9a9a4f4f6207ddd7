"""Runs inside gdb: makes a process run one expression, and detaches. `in_debugger.py` has the method."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import gdb  # type: ignore[import-not-found,import-untyped,unused-ignore]

sys.path.insert(0, os.environ["GRADLIFE_FOLDER"])
from in_debugger import REGISTERS, Failed, Registers, run, tell  # type: ignore[import-not-found]

del sys.path[0]


class Gdb:
    """The process, and the thread that gdb has selected."""

    def address_of(self, name: str) -> int:
        """Return the address of a function or variable."""
        try:
            return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))
        except gdb.error:
            raise Failed(f"it has no function {name}") from None

    def register(self, name: str) -> int:
        """Return a register."""
        return int(gdb.parse_and_eval(f"(unsigned long)${name}")) & (1 << 64) - 1

    def save(self) -> Registers:
        """Return the registers; `orig_rax` is the system call to take up again."""
        return {name: self.register(name) for name in (*REGISTERS, "orig_rax")}

    def load(self, registers: Registers) -> None:
        """Set registers, and leave the system call."""
        self.restore({"orig_rax": -1, **registers})

    def restore(self, registers: Registers) -> None:
        """Set registers."""
        for name, value in registers.items():
            gdb.execute(f"set ${name} = (long){value}")

    def read(self, at: int, size: int) -> bytes:
        """Read memory."""
        return bytes(process().read_memory(at, size))

    def write(self, at: int, content: bytes) -> None:
        """Write memory."""
        process().write_memory(at, content)

    def select_main(self) -> bool:
        """Select the main thread."""
        main = next((one for one in process().threads() if one.ptid[1] == process().pid), None)
        if main is not None:
            main.switch()
        return main is not None

    def system_call(self) -> int:
        """Return the number of the system call."""
        return self.register("orig_rax")

    def run_to(self, address: int) -> None:
        """Let the process run until the selected thread is at an address."""
        thread = gdb.selected_thread().num
        stop = gdb.Breakpoint(f"*{address}", internal=True)
        try:
            while True:
                proceed()
                if gdb.selected_thread().num == thread and self.register("rip") == address:
                    return
        finally:
            if stop.is_valid():
                stop.delete()

    def wait_at(self, name: str) -> bool:
        """Let the process run until a thread enters a function of this name in any library that gdb knows."""
        self.address_of(name)  # a breakpoint would wait for a library that has one
        stop = gdb.Breakpoint(f"-qualified {name}", internal=True)
        try:
            proceed()
            return bool(stop.hit_count)
        finally:
            if stop.is_valid():
                stop.delete()

    def entry_point(self) -> int:
        """Return the address of the program's first instruction."""
        for line in gdb.execute("info auxv", to_string=True).splitlines():
            if "AT_ENTRY" in line:
                return int(line.split()[-1], 16)
        raise Failed("its entry point is unknown")

    def function(self) -> str:
        """Return the function that the selected thread is in."""
        try:
            return gdb.newest_frame().name() or ""
        except gdb.error:
            return ""


def process() -> Any:
    """Return the process, to read and write its memory."""
    return gdb.selected_inferior()


def proceed() -> None:
    """Let the process run until it stops. Raises Failed if it ends."""
    gdb.execute("continue", to_string=True)
    if gdb.selected_thread() is None:
        raise Failed("it ended meanwhile")


def preloaded(pid: str) -> list[str]:
    """Return patterns for the libraries that were loaded before all others: one may have the `malloc` that is called."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(one.partition(b"=")[::2] for one in file.read().split(b"\0"))
    except OSError:
        return []
    names = os.fsdecode(variables.get(b"LD_PRELOAD", b"")).replace(":", " ").split()
    return ["/" + re.escape(os.path.basename(name)) for name in names]


def main() -> None:
    """Attach, run the expression, detach."""
    pid, text = os.environ["GRADLIFE_PID"], os.environ["GRADLIFE_TEXT"]
    for setting in ("pagination off", "confirm off", "auto-solib-add off", "debuginfod enabled off", "width 0"):
        try:
            gdb.execute(f"set {setting}", to_string=True)
        except gdb.error:  # gdb is older than the setting
            continue
    try:
        gdb.execute(f"attach {pid}", to_string=True)
    except gdb.error as error:
        tell(f"failed {error}")
        return
    try:
        gdb.execute("handle all nostop noprint pass", to_string=True)
        gdb.execute("handle SIGURG stop print nopass", to_string=True)
        for library in (*preloaded(pid), "/libpython", "/libc[.-]"):
            gdb.execute(f"sharedlibrary {library}", to_string=True)
        tell(run(Gdb(), text))
    except Failed as error:
        tell(f"failed {error}")
    except gdb.error as error:
        tell(f"failed gdb: {error}")
    finally:
        if gdb.selected_thread() is not None:
            gdb.execute("detach", to_string=True)


main()
sys.stdout.flush()
