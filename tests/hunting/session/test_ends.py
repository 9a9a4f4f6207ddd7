"""The ends of programs: none of them loses the report or changes what the program sees."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from written import report_in

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and copies as Linux has them")

#: A step keeps a function, which is a leak without torch, and needs no more than a moment.
STEPS = """\
import asyncio, os, signal, subprocess, sys, threading, time

kept = []

def step():
    kept.append(lambda: None)

def take(count):
    for _ in range(count):
        step()

"""


def start(folder: Path, source: str, *options: str, ignored: Sequence[int] = ()) -> subprocess.Popen[str]:
    """A hunt under way, which has a group of its own. ``ignored``: signals that the shell has it ignore."""

    def ignore() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    (folder / "program.py").write_text(STEPS + source)
    command = [
        sys.executable,
        "-m",
        "gradlife",
        "hunt",
        "--json",
        "report.json",
        "--fail-on",
        "leak",
        "--step-on",
        "__main__:step",
        *options,
    ]
    return subprocess.Popen(
        [*command, "program.py"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignore,
    )


def ended(folder: Path, hunt: subprocess.Popen[str], words: str = "") -> tuple[int, str, str, dict[str, Any]]:
    """Exit status, both outputs, and the report."""
    try:
        printed, errors = hunt.communicate(words, timeout=900)
    except subprocess.TimeoutExpired:
        os.killpg(hunt.pid, signal.SIGKILL)
        raise
    return hunt.returncode, printed, errors, json.loads((folder / "report.json").read_text())


def hunt(folder: Path, source: str, *options: str, words: str = "") -> tuple[int, str, str, dict[str, Any]]:
    """A hunt from its start to its end."""
    return ended(folder, start(folder, source, *options), words)


def wait_for(hunt: subprocess.Popen[str], line: str) -> None:
    """Reads the program's output up to a line."""
    assert hunt.stdout is not None
    while hunt.stdout.readline() != f"{line}\n":
        assert hunt.poll() is None


WAITS = "take(40)\nprint('ready', flush=True)\nwhile True:\n    step()\n    time.sleep(0.05)\n"


def test_the_keyboard_s_interrupt_ends_with_130_and_a_report(tmp_path: Path) -> None:
    under_way = start(tmp_path, WAITS)
    wait_for(under_way, "ready")
    os.killpg(under_way.pid, signal.SIGINT)
    status, _, errors, report = ended(tmp_path, under_way)
    assert (status, report["script_status"]) == (130, 130)
    assert "KeyboardInterrupt" in errors
    assert report["findings"][0]["kind"] == "growth"


def test_what_nohup_and_a_shell_in_the_background_ignore_stays_ignored(tmp_path: Path) -> None:
    """`nohup gradlife hunt train.py &` ended at logout, which `nohup python train.py &` survives."""
    source = """\
numbers = signal.SIGHUP, signal.SIGINT, signal.SIGTERM
print([number.name for number in numbers if signal.getsignal(number) is signal.SIG_IGN], flush=True)
sys.stdin.readline()
take(40)
"""
    under_way = start(tmp_path, source, ignored=[signal.SIGHUP, signal.SIGINT])
    assert under_way.stdout is not None
    printed = under_way.stdout.readline()
    os.killpg(under_way.pid, signal.SIGHUP)
    os.killpg(under_way.pid, signal.SIGINT)
    status, _, _, report = ended(tmp_path, under_way, "go\n")
    assert (printed, status) == ("['SIGHUP', 'SIGINT']\n", 1)
    assert (report["script_status"], report["trouble"]) == (0, "")


@pytest.mark.parametrize("to_group", [False, True], ids=["to the command", "to the whole group"])
def test_a_termination_takes_stock_first_and_ends_with_143(tmp_path: Path, to_group: bool) -> None:
    under_way = start(tmp_path, WAITS)
    wait_for(under_way, "ready")
    (os.killpg if to_group else os.kill)(under_way.pid, signal.SIGTERM)
    status, _, _, report = ended(tmp_path, under_way)
    assert status == 143
    assert report["trouble"].startswith("killed by signal 15 at ")
    assert report["findings"][0]["kind"] == "growth"


def test_a_program_s_own_handler_is_the_one_that_hears_and_it_sees_none_before(tmp_path: Path) -> None:
    source = """\
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
def end(number, frame):
    print("saved", flush=True)
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
take(40)
os.kill(os.getpid(), signal.SIGTERM)
take(10_000_000)
"""
    status, printed, _, report = hunt(tmp_path, source)
    assert (status, report["script_status"], printed) == (5, 5, "True\nsaved\n")
    assert report["trouble"] == ""


def test_a_copy_that_the_program_forks_is_not_hunted_in_and_keeps_its_own_end(tmp_path: Path) -> None:
    source = """\
take(30)
copy = os.fork()
take(40)
if copy == 0:
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
second = os.fork()
if second == 0:
    time.sleep(100)
os.kill(second, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
take(30)
"""
    status, printed, _, report = hunt(tmp_path, source)
    assert (status, report["script_status"], printed) == (1, 0, "7\n-15\n")
    assert sum(one["steps"] for one in report["rounds"]) + report["warmup_steps"] <= 100


def test_what_the_program_leaves_running_does_not_keep_the_hunt_waiting(tmp_path: Path) -> None:
    source = """\
take(40)
if os.fork() == 0:
    os.setsid()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(600)
    os._exit(0)
"""
    status, _, _, report = hunt(tmp_path, source)
    assert (status, report["verdict"]) == (1, "leak")


def test_an_exit_past_all_handlers_leaves_a_report(tmp_path: Path) -> None:
    status, _, _, report = hunt(tmp_path, "take(40)\nos._exit(9)\n")
    assert (status, report["script_status"]) == (9, 9)
    assert report["findings"][0]["kind"] == "growth"


@pytest.mark.parametrize(
    ("source", "status", "trouble"),
    [
        ("import ctypes; ctypes.string_at(0)", 139, r"killed by signal 11 at .* GiB before enough steps were seen"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, r"killed by signal 9 at .* GiB before enough steps were seen"),
        ("import ctypes; ctypes.CDLL(None)._exit(7)", 7, "the program ended with exit status 7 and left no report: .*"),
        ("os.execv('/bin/true', ['true'])", 3, "the program ended with exit status 0 and left no report: .*"),
    ],
    ids=["crash", "kill", "exit in C", "another program"],
)
def test_an_end_before_any_report_is_shown_and_written(tmp_path: Path, source: str, status: int, trouble: str) -> None:
    """A crash at import printed nothing, and an earlier report.json stayed in its place."""
    (tmp_path / "report.json").write_text('{"format": "gradlife.hunt/1"}')
    returned, _, errors, report = hunt(tmp_path, source)
    assert (returned, report["verdict"]) == (status, "inconclusive")
    assert re.fullmatch(trouble, report["trouble"])
    assert report_in(errors).startswith("could not tell  program.py: ")


def test_a_fix_of_a_program_that_fails_is_compared_too(tmp_path: Path) -> None:
    """With Ctrl-C, or `sys.exit(1)`, nothing was compared."""
    assert hunt(tmp_path, "take(40)\n")[0] == 1
    (tmp_path / "report.json").rename(tmp_path / "before.json")
    status, printed, _, _ = hunt(tmp_path, "take(40)\nsys.exit(7)\n", "--verify", "before.json")
    assert status == 7
    assert printed.splitlines()[-1] == "NOT FIXED: 1 of 1 leak left, 0 new"


def test_a_step_function_that_is_never_called_is_the_reason_why_nothing_is_known(tmp_path: Path) -> None:
    status, _, errors, _ = hunt(tmp_path, "time.sleep(0.01)\n", "--step-on", "json:loads")
    assert status == 3
    assert report_in(errors).splitlines() == [
        "could not tell  program.py: json:loads was never called",
        "Try: gradlife hunt program.py",
    ]


@pytest.mark.parametrize(
    "change",
    ["sys.stderr = None", "sys.stderr = sys.stdout = object()", "sys.stderr.close(); sys.stdout.close()"],
    ids=["none", "another object", "closed"],
)
def test_a_program_without_its_standard_error_leaves_a_report_as_it_fails(tmp_path: Path, change: str) -> None:
    """The error of gradlife's own `sys.stderr.flush()` took its place, and the report was lost."""
    report = hunt(tmp_path, f"take(40)\n{change}\nraise ValueError('too hot')\n")[3]
    assert report["script_status"] == 1
    assert report["trouble"].startswith("the program ended with ValueError after ")
    assert hunt(tmp_path, f"take(40)\n{change}\nsys.exit('too hot')\n")[3]["script_status"] == 1


def test_an_exception_keeps_its_traceback_and_status(tmp_path: Path) -> None:
    status, _, errors, report = hunt(tmp_path, "take(40)\nraise ValueError('too hot')\n")
    assert (status, report["script_status"]) == (1, 1)
    assert "program.py" in errors
    assert "gradlife/hunting" not in errors
    assert report["trouble"].startswith("the program ended with ValueError after ")


def test_input_threads_and_an_event_loop_are_the_program_s_own(tmp_path: Path) -> None:
    source = """\
print(sys.stdin.readline().strip(), input())
async def main():
    heard = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard.set)
    os.kill(os.getpid(), signal.SIGTERM)
    await heard.wait()
    print("heard")
    await asyncio.to_thread(take, 60)
asyncio.run(main())
thread = threading.Thread(target=take, args=(60,))
thread.start()
print(subprocess.run([sys.executable, "-c", "print('other')"], capture_output=True, text=True).stdout.strip())
"""
    status, printed, _, report = hunt(tmp_path, source, words="one\ntwo\n")
    assert (status, printed) == (1, "one two\nheard\nother\n")
    assert report["findings"][0]["kind"] == "growth"


def test_sixty_steps_are_enough_for_the_verdict(tmp_path: Path) -> None:
    status, printed, _, report = hunt(tmp_path, "take(10_000_000)\nprint('never')\n", "--steps", "60")
    assert (status, printed, report["verdict"]) == (1, "", "leak")
    assert report["warmup_steps"] + sum(one["steps"] for one in report["rounds"]) <= 60


def gc_and_trace_after(source: str) -> tuple[str, ...]:
    """Run a program that hunts in its own process; return whether the collector is on and code is traced after it."""
    program = STEPS + "import gc\nimport gradlife\n" + source + "\nprint(gc.isenabled(), sys.gettrace() is not None)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=900)
    return tuple(done.stdout.split())


@pytest.mark.parametrize("number", [3, 30])
def test_a_hunted_function_that_raises_leaves_the_collector_on_and_nothing_traced(number: int) -> None:
    source = f"""
def fails(number):
    step()
    if number == {number}:
        raise ValueError(number)

try:
    gradlife.hunt(fails)
except ValueError as error:
    kept.append(error)
"""
    assert gc_and_trace_after(source) == ("True", "False")


def test_a_watched_loop_that_is_left_early_leaves_the_collector_on() -> None:
    source = """
from gradlife.program.hunt.watch import Watch

watch = Watch(lambda report: None)
for number in range(30):
    with watch:
        step()
watch.finish()
"""
    assert gc_and_trace_after(source) == ("True", "False")
