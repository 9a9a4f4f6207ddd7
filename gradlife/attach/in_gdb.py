"""Runs inside gdb: makes a stopped Python process run one expression, and detaches.

Functions are called by setting registers, since gdb's own `call` fails where it cannot write the vector registers
(gdb 13 on processors with AMX). So they are called only where no vector register is in use:

- in the main thread, if it sleeps in a system call and has released the interpreter's lock;
- else where any thread enters `malloc`: the expression is queued there, and the main thread runs it soon.

Lines on standard output tell the parent: ``waiting``, ``queued``, ``done`` or ``failed REASON``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import gdb  # type: ignore[import-untyped]

#: System calls in which a Python thread sleeps and which the kernel restarts after an interruption (x86-64):
#: read, poll, select, pause, nanosleep, connect, accept, recvfrom, recvmsg, wait4, flock, rt_sigtimedwait, futex,
#: restart_syscall, clock_nanosleep, epoll_wait, waitid, pselect6, ppoll, epoll_pwait, accept4, epoll_pwait2.
SLEEPS = frozenset({0, 7, 23, 34, 35, 42, 43, 45, 47, 61, 73, 128, 202, 219, 230, 232, 247, 270, 271, 281, 288, 441})

REGISTERS = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "orig_rax"),
    *(f"r{number}" for number in range(8, 16)),
)
ARGUMENTS = ("rdi", "rsi", "rdx")

#: Bytes below the stack pointer that a function may use, with a margin.
RED_ZONE = 512

#: The machine code of `syscall`.
SYSCALL = b"\x0f\x05"

#: Attempts before the process is given up; the parent interrupts it twice a second.
TRIALS = 20

#: The placeholder for the address of the text, as in gradlife/attach/bootstrap.py.
ADDRESS = "0x" + 16 * "f"


class Failed(Exception):
    """The expression could not be run."""


def tell(line: str) -> None:
    """Send a line to the parent."""
    print(f"gradlife {line}", flush=True)


def address_of(name: str) -> int:
    """Return the address of a function in the process."""
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))
    except gdb.error:
        raise Failed(f"it has no function {name}") from None


def register(name: str) -> int:
    """Read a register of the selected thread, unsigned."""
    return int(gdb.parse_and_eval(f"(unsigned long)${name}")) & (1 << 64) - 1


def set_register(name: str, value: int) -> None:
    """Write a register of the selected thread."""
    gdb.execute(f"set ${name} = (long){value}")


def memory() -> Any:
    """Return the process, to read and write its memory."""
    return gdb.selected_inferior()


def call(function: int, *arguments: int) -> int:
    """Call a function of the process in the selected thread; return its result. Other threads run meanwhile."""
    thread = gdb.selected_thread()
    saved = {name: register(name) for name in REGISTERS}
    home = entry_point()
    stack = (saved["rsp"] - RED_ZONE & ~0xF) - 8
    memory().write_memory(stack, home.to_bytes(8, "little"))
    values = dict(zip(ARGUMENTS, arguments, strict=False))
    for name, value in {"orig_rax": -1, "rax": 0, "rsp": stack, "rip": function, **values}.items():
        set_register(name, value)
    stop = gdb.Breakpoint(f"*{home}", internal=True)
    try:
        while True:
            gdb.execute("continue", to_string=True)
            if gdb.selected_thread() is None:
                raise Failed("it ended meanwhile")
            if gdb.selected_thread().num == thread.num and register("rip") == home:
                break
    finally:
        if stop.is_valid():
            stop.delete()
    result = register("rax")
    for name, value in saved.items():
        set_register(name, value)
    return result


def put_text(text: str, at: int) -> None:
    """Write the expression to memory, with its own address filled in."""
    code = text.replace(ADDRESS, f"0x{at:016x}").encode("ascii") + b"\0"
    memory().write_memory(at, code)


def sleeps() -> bool:
    """Whether the selected thread sleeps in a system call."""
    number = register("orig_rax")
    return number in SLEEPS and bytes(memory().read_memory(register("rip") - 2, 2)) == SYSCALL


def run_in_sleeper(text: str) -> bool:
    """Run the expression in the main thread if it sleeps without the interpreter's lock; return whether it ran."""
    main = next((one for one in memory().threads() if one.ptid[1] == memory().pid), None)
    if main is None:
        return False
    main.switch()
    if not sleeps() or call(address_of("PyGILState_Check")):
        return False
    at = call(address_of("malloc"), len(text) + 1)
    if not at:
        return False
    put_text(text, at)
    state = call(address_of("PyGILState_Ensure"))
    failed = call(address_of("PyRun_SimpleString"), at)
    call(address_of("PyGILState_Release"), state)
    if failed & 0xFFFFFFFF:
        raise Failed("it could not start a thread")
    return True


def run_at_malloc(text: str) -> bool:
    """Wait until a thread enters malloc, and queue the expression there; return False if the parent interrupts."""
    malloc = address_of("malloc")
    stop = gdb.Breakpoint(f"*{malloc}", internal=True)
    try:
        tell("waiting")
        gdb.execute("continue", to_string=True)
    finally:
        if stop.is_valid():
            stop.delete()
    if gdb.selected_thread() is None:
        raise Failed("it ended meanwhile")
    if register("rip") != malloc:
        return False
    at = call(malloc, len(text) + 1)
    if not at:
        return False
    put_text(text, at)
    return call(address_of("Py_AddPendingCall"), address_of("PyRun_SimpleString"), at) == 0


def where() -> str:
    """Return the function that the main thread is in."""
    try:
        main = next(one for one in memory().threads() if one.ptid[1] == memory().pid)
        main.switch()
        return gdb.newest_frame().name() or "code without a name"
    except (StopIteration, gdb.error):
        return "code without a name"


def run(text: str) -> str:
    """Try until the expression was run or queued; return which."""
    if not int(gdb.parse_and_eval("*(unsigned long *)&Py_Version")) >> 16 >= 0x030B:
        raise Failed("it runs a Python before 3.11")
    for _ in range(TRIALS):
        if run_in_sleeper(text):
            return "done"
        if run_at_malloc(text):
            return "queued"
    raise Failed(f"its main thread has been in a C call all the time: {where()}")


def entry_point() -> int:
    """Return the address of the program's first instruction, which never runs again: calls return to it."""
    for line in gdb.execute("info auxv", to_string=True).splitlines():
        if "AT_ENTRY" in line:
            return int(line.split()[-1], 16)
    raise Failed("its entry point is unknown")


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
        for library in ("/libpython", "/libc[.-]"):
            gdb.execute(f"sharedlibrary {library}", to_string=True)
        tell(run(text))
    except Failed as error:
        tell(f"failed {error}")
    except gdb.error as error:
        tell(f"failed gdb: {error}")
    finally:
        if gdb.selected_thread() is not None:
            gdb.execute("detach", to_string=True)


main()
sys.stdout.flush()
