"""Nothing of the diagnosis changes what all threads of the program share, not even for a moment, but for the listed uses."""

from __future__ import annotations

import ast
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradlife.attach.server import serve
from gradlife.output import OutputFile
from sources import ROOT, python_files

#: Calls that change the state of a process: its files, signals, limits, randomness, warnings, collector and hooks.
CALLS = {
    *(
        "os.umask",
        "os.chdir",
        "os.fchdir",
        "os.chroot",
        "os.putenv",
        "os.unsetenv",
        "os.nice",
        "os.setpriority",
        "os.setpgid",
    ),
    *("os.setsid", "os.sched_setaffinity", "os.set_blocking", "os.closerange", "os.register_at_fork", "time.tzset"),
    *("os.environ.update", "os.environ.setdefault", "os.environ.pop", "os.environ.clear", "locale.setlocale"),
    *("warnings.catch_warnings", "warnings.simplefilter", "warnings.filterwarnings", "warnings.resetwarnings"),
    *("sys.setswitchinterval", "sys.setrecursionlimit", "sys.settrace", "sys.setprofile", "sys.addaudithook"),
    *("sys.set_int_max_str_digits", "sys.setdlopenflags", "sys.set_asyncgen_hooks", "sys.activate_stack_trampoline"),
    *(
        "threading.settrace",
        "threading.setprofile",
        "threading.settrace_all_threads",
        "threading.setprofile_all_threads",
    ),
    *("threading.stack_size", "socket.setdefaulttimeout", "resource.setrlimit", "resource.prlimit", "mimetypes.init"),
    *("gc.disable", "gc.enable", "gc.freeze", "gc.unfreeze", "gc.set_threshold", "gc.set_debug"),
    *("signal.signal", "signal.set_wakeup_fd", "signal.setitimer", "signal.alarm", "signal.siginterrupt"),
    *("random.seed", "random.setstate", "tracemalloc.start", "tracemalloc.stop", "faulthandler.enable"),
    *(
        "faulthandler.disable",
        "faulthandler.register",
        "logging.basicConfig",
        "logging.disable",
        "logging.captureWarnings",
    ),
    *("torch.manual_seed", "torch.set_num_threads", "torch.set_default_dtype", "torch.set_default_device"),
    *("torch.set_grad_enabled", "torch.set_rng_state", "torch.use_deterministic_algorithms", "module.manual_seed"),
    *("module.seed", "linecache.clearcache", "importlib.invalidate_caches", "sys.modules.pop"),
}

#: Names that are assigned to, or whose items are.
ASSIGNED = {
    *("os.environ", "sys.stdout", "sys.stderr", "sys.stdin", "sys.excepthook", "sys.unraisablehook", "sys.displayhook"),
    *(
        "sys.dont_write_bytecode",
        "sys.breakpointhook",
        "sys.tracebacklimit",
        "threading.excepthook",
        "warnings.filters",
    ),
    *("warnings.showwarning", "builtins.print", "builtins.__import__", "sys.path", "sys.meta_path", "sys.modules"),
    *("sys.argv", "os._exit", "sys.last_type", "sys.last_value", "sys.last_traceback", "sys.last_exc", "sys.orig_argv"),
}

#: The uses that stay, by file, and why each is none that a thread of the program would miss.
STAYS = {
    "after_fork.py": ({"os.register_at_fork"}, "the program's own forks must not count steps, nor serve clients"),
    "attach/in_gdb.py": ({"sys.path"}, "inside a debugger"),
    "attach/in_lldb.py": ({"sys.path"}, "inside a debugger"),
    "hunting/process/collector.py": (
        {"gc.freeze", "gc.unfreeze"},
        "objects of a service from before a hunt, for its time",
    ),
    "hunting/process/forked.py": ({"os.nice", "sys.settrace", "sys.setprofile"}, "in a copy"),
    "hunting/process/import_watch.py": ({"sys.meta_path"}, "finds nothing itself, and goes after its module's import"),
    "hunting/process/launcher.py": ({"os.environ"}, "what a launcher starts is hunted in"),
    "program/child.py": ({"sys.argv"}, "before the program begins"),
    "program/last_report.py": ({"signal.signal"}, "the program has ended"),
    "cli/live_line.py": ({"signal.signal"}, "in the command's own process: Ctrl-Z gives the terminal back as it was"),
    "program/hunt/parent.py": ({"os.set_blocking"}, "another process than the program's"),
    "program/launched.py": ({"sys.excepthook"}, "the hook that was there is called, and the error noted"),
    "program/parent.py": (
        {"signal.signal", "signal.set_wakeup_fd", "os.set_blocking"},
        "another process than the program's",
    ),
    "program/script.py": (
        {
            "sys.argv",
            "sys.path",
            "sys.modules",
            "sys.last_type",
            "sys.last_value",
            "sys.last_traceback",
            "sys.last_exc",
            "sys.orig_argv",
        },
        "as Python itself does to run a script",
    ),
    "program/trial.py": (
        {"random.seed", "module.seed", "module.manual_seed"},
        "a trial of a fix, in a process of its own",
    ),
    "hunting/session/last_snapshot.py": ({"sys.setprofile"}, "only where no other function profiles"),
    "hunting/session/method.py": ({"gc.disable", "gc.enable"}, "the measurement: what waits for the collector"),
    "hunting/steps/main_definitions.py": (
        {"sys.settrace"},
        "only until the module's functions are defined, if nothing traces",
    ),
    "hunting/steps/targets.py": ({"sys.path", "sys.modules"}, "as Python itself does to import a module"),
    "hunting/stores/executed_lines.py": ({"sys.settrace"}, "`--lines`, only where no other function traces"),
    "hunting/workers/hunt.py": ({"gc.freeze"}, "a worker that has just been forked"),
    "hunting/workers/install.py": ({"os.environ"}, "processes that the program starts are hunted in"),
    "ranks/meeting.py": ({"signal.signal"}, "after the program of the rank has ended"),
}

#: Parts that run in processes of their own, or in the process of the tests: the laboratory, commands, and the plugin.
OWN_PROCESSES = (
    "engine",
    "environments",
    "runner",
    "backends",
    "probes",
    "pytest_plugin",
    "scenario.py",
    "mcp_server",
    "doctor",
)


def dotted(node: ast.AST) -> str:
    """The name of an expression: `os.environ` of os.environ["X"]."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    return node.id if isinstance(node, ast.Name) else ""


def changes_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in CALLS:
            yield dotted(node.func)
        elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[0] in ASSIGNED - {"os.environ"}:
            name, _, method = dotted(node.func).rpartition(".")
            if method in {"insert", "append", "extend", "remove", "pop", "clear", "update", "setdefault"}:
                yield name
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
            yield from (name for name in map(dotted, flat) if name in ASSIGNED)


def test_what_all_threads_share_is_changed_at_the_listed_places_only() -> None:
    found: dict[str, set[str]] = {}
    for path in python_files("gradlife"):
        name = path.relative_to(ROOT / "gradlife").as_posix()
        if not name.startswith(OWN_PROCESSES):
            changes = {*changes_in(ast.parse(path.read_text(encoding="utf-8")))}
            found |= {name: changes} if changes else {}
    assert found == {name: uses for name, (uses, _) in STAYS.items()}


@pytest.mark.parametrize(
    "text",
    [
        "before = os.umask(0)",
        "with warnings.catch_warnings(): pass",
        "os.environ['X'] = ''",
        "del os.environ['X']",
        "sys.last_type, x = 1, 2",
        "sys.path.insert(0, '')",
    ],
)
def test_the_search_finds_each_way_to_change_it(text: str) -> None:
    assert len([*changes_in(ast.parse(text))]) == 1


def test_the_compiled_parts_change_it_in_copies_only() -> None:
    changing = re.compile(r"\b(umask|chdir|setenv|putenv|setlocale|setrlimit|sigaction|setitimer|alarm|nice|prctl)\(")
    files = [*(ROOT / "csrc" / "heap_py").rglob("*.c*"), *(ROOT / "csrc" / "heapgraph").rglob("*.c*")]
    found = {path.name: {*changing.findall(path.read_text(encoding="utf-8"))} for path in files}
    assert {name: uses for name, uses in found.items() if uses} == {
        "forked_copy.cpp": {"prctl", "nice"},
        "silent_fork.cpp": {"sigaction", "setitimer"},
        "termination.cpp": {"sigaction"},
    }


def test_a_new_report_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    program = (
        "import os, stat; from gradlife.output import OutputFile; os.umask(0o027)\n"
        "with OutputFile('r.json') as file: file.write('x')\n"
        "print(oct(stat.S_IMODE(os.stat('r.json').st_mode)), os.listdir())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0o640 ['r.json']\n"


def test_reports_and_sockets_are_made_without_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each set it for a moment: other threads made files that all users could write."""
    masks: list[int] = []
    monkeypatch.setattr(os, "umask", masks.append)
    with OutputFile(str(tmp_path / "report.json")) as file:
        file.write("{}")
    server = serve(tmp_path / "door")
    mode = stat.S_IMODE(os.stat(server.path).st_mode)
    server.close()
    assert (masks, mode, os.listdir(tmp_path)) == ([], 0o600, ["report.json"])


def test_two_processes_do_not_serve_at_one_place(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "door"))
        other.listen(1)
        with pytest.raises(Exception, match="address already in use"):
            serve(tmp_path / "door")
    assert os.listdir(tmp_path) == ["door"]


@pytest.mark.torch
def test_a_look_at_tensors_shows_no_warning_of_the_program_again() -> None:
    """`catch_warnings` makes Python forget what it has shown."""
    program = """
import warnings, torch, gradlife
def slow(): warnings.warn("slow path", UserWarning, stacklevel=1)
slow()
x = torch.ones(3, requires_grad=True).exp()
gradlife.why(x); gradlife.snapshot()
slow()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count("slow path") == 1
