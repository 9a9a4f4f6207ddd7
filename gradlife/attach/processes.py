"""Running processes: whether gradlife can attach to them, and if not, why.

Everything is read from `/proc` before the process is touched, so that a refusal is one line.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from gradlife.errors import UsageError

#: The architectures that `in_debugger.py` supports.
MACHINES = ("x86_64",)

#: Advice for a machine without a debugger.
SERVE_HINT = "gradlife.serve() in the program, or GRADLIFE_SERVE=1 before it starts if it imports gradlife"

#: Yama's setting: 0 same user, 1 parents only, 2 administrators only, 3 nobody.
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")

PYTHON = re.compile(r"(?:lib)?python(3\.\d+)")

#: The capability to trace any process, as a bit of CapEff.
CAP_SYS_PTRACE = 1 << 19


@dataclass(frozen=True)
class Target:
    """A Python process."""

    pid: int
    command: str  # its command line
    python: str  # "3.11"
    executable: str

    @property
    def title(self) -> str:
        """The process in words: ``process 4711 (python train.py)``."""
        words = self.command if len(self.command) <= 48 else self.command[:45] + "..."
        return f"process {self.pid} ({words})"


def find_target(pid: int) -> Target:
    """Return the process with this ID, or with a thread of this ID.

    UsageError if there is none, it is not Python, or it is another user's.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("gradlife attaches to processes on Linux only", "with gradlife.watch(): in the program")
    folder = Path(f"/proc/{pid}")
    try:
        owner = folder.stat().st_uid
        status = fields_of(folder)
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        raise UsageError(f"there is no process {pid}", "pgrep -af python") from None
    if status.get("Tgid", str(pid)) != str(pid):  # the number of a thread, as htop shows it
        return find_target(int(status["Tgid"]))
    if pid == os.getpid():
        raise UsageError("gradlife cannot attach to itself", "pgrep -af python")
    if status.get("State", "")[:1] in ("Z", "X"):
        raise UsageError(f"process {pid} has ended and waits for its parent", "pgrep -af python")
    refuse_other_user(pid, owner)
    refuse_other_place(folder)
    return Target(pid, command or status.get("Name", ""), python_of(folder), os.readlink(folder / "exe"))


def refuse_other_user(pid: int, owner: int) -> None:
    """Raise UsageError for another user's process: attaching runs code as that user."""
    if owner != os.geteuid():
        raise UsageError(
            f"process {pid} runs as {user_name(owner)}, and you are {user_name(os.geteuid())}",
            f"sudo -u {user_name(owner)} gradlife attach {pid}",
        )


def refuse_other_place(folder: Path) -> None:
    """Raise UsageError for a process in a container, whose files differ: it would find neither socket nor gradlife."""
    try:
        is_same = os.readlink(folder / "ns/mnt") == os.readlink("/proc/self/ns/mnt")
    except OSError:
        return
    if not is_same:
        raise UsageError(
            f"process {folder.name} runs in a container with files of its own", "gradlife attach inside the container"
        )


def refuse_debugging(pid: int) -> None:
    """Raise UsageError if this machine allows no debugger on the process, with advice."""
    if platform.machine() not in MACHINES:
        raise UsageError(f"attaching by a debugger is not supported on {platform.machine()}", SERVE_HINT)
    tracer = fields_of(Path(f"/proc/{pid}")).get("TracerPid", "0")
    if tracer != "0":
        raise UsageError(f"process {pid} is being debugged already, by process {tracer}", f"end process {tracer} first")
    scope = int(PTRACE_SCOPE.read_text()) if PTRACE_SCOPE.exists() else 0
    is_administrator = int(fields_of(Path("/proc/self")).get("CapEff", "0"), 16) & CAP_SYS_PTRACE
    if scope >= 3:
        raise UsageError("this machine forbids every debugger (ptrace_scope is 3)", SERVE_HINT)
    if scope >= 1 and not is_administrator:
        raise UsageError(
            f"this machine forbids debuggers on running processes (ptrace_scope is {scope})",
            f"sudo sysctl kernel.yama.ptrace_scope=0; or {SERVE_HINT}",
        )


def fields_of(folder: Path) -> dict[str, str]:
    """Return the fields of a process's `status`."""
    lines = (folder / "status").read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def python_of(folder: Path) -> str:
    """Return the version of Python that a process runs, by its mapped files."""
    try:
        maps = (folder / "maps").read_text(errors="replace")
    except OSError:
        raise UsageError(f"the memory of process {folder.name} can't be read", "run it as the same user") from None
    files = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count(" /")}
    names = sorted(os.path.basename(file) for file in files)
    found = [match[1] for name in names if (match := PYTHON.match(name))]
    found += [match[1] for file in sorted(files) if (match := re.search(r"/python(3\.\d+)/lib-dynload/", file))]
    if not found:
        raise UsageError(f"process {folder.name} is not a Python process", "pgrep -af python")
    version = found[0]
    if tuple(map(int, version.split("."))) < (3, 11):
        raise UsageError(f"process {folder.name} runs Python {version}", "run the program with Python 3.11 or newer")
    return version


def user_name(number: int) -> str:
    """Return the name of a user, or ``user NUMBER`` without one."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
