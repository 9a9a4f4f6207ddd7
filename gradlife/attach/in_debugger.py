"""Makes a stopped Python process run one expression. Runs inside a debugger, which `in_gdb.py` or `in_lldb.py` wraps.

Functions are called by setting registers, since gdb's own `call` fails where it cannot write the vector registers
(gdb 13 on processors with AMX). So they are called only where no vector register is in use:

- in the main thread, if it sleeps in a system call and has released the interpreter's lock;
- else where any thread enters `malloc`: the expression is queued there, and the main thread runs it soon.

Lines on standard output tell the parent: ``waiting``, ``queued``, ``done`` or ``failed REASON``.
"""

from __future__ import annotations

from typing import Protocol

#: System calls in which a Python thread sleeps and which the kernel restarts after an interruption (x86-64):
#: read, poll, select, pause, nanosleep, connect, accept, recvfrom, recvmsg, wait4, flock, rt_sigtimedwait, futex,
#: restart_syscall, clock_nanosleep, epoll_wait, waitid, pselect6, ppoll, epoll_pwait, accept4, epoll_pwait2.
SLEEPS = frozenset({0, 7, 23, 34, 35, 42, 43, 45, 47, 61, 73, 128, 202, 219, 230, 232, 247, 270, 271, 281, 288, 441})

REGISTERS = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip"),
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

#: Gives memory for the text. It asks the `malloc` that Python uses, which need not be the C library's: the new thread frees
#: it there (gradlife/attach/bootstrap.py).
ALLOCATE = "PyMem_RawMalloc"

Registers = dict[str, int]


class Failed(Exception):
    """The expression could not be run."""


class Debugger(Protocol):
    """The debugger, with one thread of the process selected."""

    def address_of(self, name: str) -> int:
        """Return the address of a function or variable. Raises Failed."""

    def register(self, name: str) -> int:
        """Return a register of the selected thread, unsigned."""

    def save(self) -> Registers:
        """Return the registers with which the selected thread can continue; they restart the system call that it is in."""

    def load(self, registers: Registers) -> None:
        """Set registers of the selected thread. If it sleeps in a system call, it does not return there."""

    def restore(self, registers: Registers) -> None:
        """Set what `save` returned."""

    def read(self, at: int, size: int) -> bytes:
        """Read memory."""

    def write(self, at: int, content: bytes) -> None:
        """Write memory."""

    def select_main(self) -> bool:
        """Select the main thread; return whether it is there."""

    def system_call(self) -> int:
        """Return the number of the system call that the selected thread is in; -1 for none."""

    def run_to(self, address: int) -> None:
        """Let the process run until the selected thread is at an address. Raises Failed."""

    def wait_at(self, name: str) -> bool:
        """Let the process run until a thread enters a function of this name, and select that thread; False if the parent
        interrupts. Several libraries may have one: which of them is called is not known.
        """

    def entry_point(self) -> int:
        """Return the address of the program's first instruction. It never runs again, so calls can return to it."""

    def function(self) -> str:
        """Return the function that the selected thread is in; empty if it has no name."""


def tell(line: str) -> None:
    """Send a line to the parent."""
    print(f"gradlife {line}", flush=True)


def call(debugger: Debugger, function: int, *arguments: int) -> int:
    """Call a function of the process in the selected thread; return its result. Other threads run meanwhile."""
    saved = debugger.save()
    home = debugger.entry_point()
    stack = (debugger.register("rsp") - RED_ZONE & ~0xF) - 8
    debugger.write(stack, home.to_bytes(8, "little"))
    values = dict(zip(ARGUMENTS, arguments, strict=False))
    debugger.load({"rax": 0, "rsp": stack, "rip": function, **values})
    debugger.run_to(home)
    result = debugger.register("rax")
    debugger.restore(saved)
    return result


def put_text(debugger: Debugger, text: str, at: int) -> None:
    """Write the expression to memory, with its own address filled in."""
    debugger.write(at, text.replace(ADDRESS, f"0x{at:016x}").encode("ascii") + b"\0")


def is_sleeping(debugger: Debugger) -> bool:
    """Whether the selected thread sleeps in a system call."""
    return debugger.system_call() in SLEEPS and debugger.read(debugger.register("rip") - 2, 2) == SYSCALL


def run_in_sleeper(debugger: Debugger, text: str) -> bool:
    """Run the expression in the main thread if it sleeps without the interpreter's lock; return whether it ran."""
    if not debugger.select_main() or not is_sleeping(debugger):
        return False
    if call(debugger, debugger.address_of("PyGILState_Check")) & 0xFFFFFFFF:
        return False
    at = call(debugger, debugger.address_of(ALLOCATE), len(text) + 1)
    if not at:
        return False
    put_text(debugger, text, at)
    state = call(debugger, debugger.address_of("PyGILState_Ensure"))
    failed = call(debugger, debugger.address_of("PyRun_SimpleString"), at)
    call(debugger, debugger.address_of("PyGILState_Release"), state)
    if failed & 0xFFFFFFFF:
        raise Failed("it could not start a thread")
    return True


def run_at_malloc(debugger: Debugger, text: str) -> bool:
    """Wait until a thread enters malloc, and queue the expression there; return False if the parent interrupts."""
    tell("waiting")
    if not debugger.wait_at("malloc"):
        return False
    at = call(debugger, debugger.address_of(ALLOCATE), len(text) + 1)
    if not at:
        return False
    put_text(debugger, text, at)
    queued = call(debugger, debugger.address_of("Py_AddPendingCall"), debugger.address_of("PyRun_SimpleString"), at)
    return queued & 0xFFFFFFFF == 0


def run(debugger: Debugger, text: str) -> str:
    """Try until the expression has run or is queued; return ``done`` or ``queued``. Raises Failed."""
    version = int.from_bytes(debugger.read(debugger.address_of("Py_Version"), 8), "little")
    if not version >> 16 >= 0x030B:
        raise Failed("it runs a Python before 3.11")
    for _ in range(TRIALS):
        if run_in_sleeper(debugger, text):
            return "done"
        if run_at_malloc(debugger, text):
            return "queued"
    name = debugger.function() if debugger.select_main() else ""
    raise Failed(f"its main thread has been in a C call all the time: {name or 'code without a name'}")
