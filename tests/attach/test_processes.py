"""What can be attached to, and why the rest can't."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from attachable import ASLEEP, running
from gradlife.attach import processes
from gradlife.attach.processes import find_target, refuse_debugging
from gradlife.cli import main
from gradlife.errors import UsageError
from processes import comes_true

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


def complaint(pid: int) -> str:
    with pytest.raises(UsageError) as caught:
        find_target(pid)
    return str(caught.value)


def test_a_running_python_is_found(tmp_path: Path) -> None:
    with running(ASLEEP, tmp_path) as pid:
        target = find_target(pid)
        assert target.python == f"3.{sys.version_info.minor}"
        assert target.executable == os.path.realpath(sys.executable)
        assert target.title.startswith(f"process {pid} (")


def test_the_number_of_a_thread_names_its_process(tmp_path: Path) -> None:
    """htop shows it."""
    source = "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
    with running(source + ASLEEP, tmp_path) as pid:
        assert [find_target(int(one)).pid for one in os.listdir(f"/proc/{pid}/task")] == [pid, pid]


def test_a_number_that_no_process_has_is_refused() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert complaint(child.pid) == f"there is no process {child.pid} (try: pgrep -af python)"


def test_a_process_that_is_no_python_is_refused() -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        assert comes_true(lambda: os.readlink(f"/proc/{sleeper.pid}/exe").endswith("sleep"))
        assert complaint(sleeper.pid) == f"process {sleeper.pid} is not a Python process (try: pgrep -af python)"
        sleeper.kill()


def test_a_process_that_has_ended_is_refused() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    assert comes_true(lambda: processes.fields_of(Path(f"/proc/{child.pid}")).get("State", "").startswith("Z"))
    assert complaint(child.pid) == f"process {child.pid} has ended and waits for its parent (try: pgrep -af python)"
    child.wait()


def test_gradlife_does_not_attach_to_itself() -> None:
    assert complaint(os.getpid()) == "gradlife cannot attach to itself (try: pgrep -af python)"


def test_another_users_process_is_refused_with_the_command_for_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(ASLEEP, tmp_path) as pid:
        owner = processes.user_name(os.stat(f"/proc/{pid}").st_uid)
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
        assert complaint(pid) == (
            f"process {pid} runs as {owner}, and you are user 4242 (try: sudo -u {owner} gradlife attach {pid})"
        )


def test_a_process_in_a_container_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ns").mkdir()
    (tmp_path / "ns" / "mnt").symlink_to("mnt:[1]")
    with pytest.raises(UsageError, match="in a container with files of its own"):
        processes.refuse_other_place(tmp_path)


@pytest.mark.parametrize(
    ("scope", "capabilities", "message"),
    [
        ("0", "0", None),
        ("1", "0", "forbids debuggers on running processes (ptrace_scope is 1)"),
        ("1", f"{processes.CAP_SYS_PTRACE:x}", None),
        ("3", f"{processes.CAP_SYS_PTRACE:x}", "forbids every debugger (ptrace_scope is 3)"),
    ],
)
def test_the_machines_rules_for_debuggers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, capabilities: str, message: str | None
) -> None:
    rule = tmp_path / "ptrace_scope"
    rule.write_text(scope)
    monkeypatch.setattr(processes, "PTRACE_SCOPE", rule)
    monkeypatch.setattr(processes, "fields_of", lambda folder: {"TracerPid": "0", "CapEff": capabilities})
    monkeypatch.setattr(platform, "machine", lambda: processes.MACHINES[0])
    if message is None:
        refuse_debugging(1)
    else:
        with pytest.raises(UsageError) as caught:
            refuse_debugging(1)
        assert message in caught.value.message


def test_a_process_that_is_debugged_already_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "fields_of", lambda folder: {"TracerPid": "77"})
    monkeypatch.setattr(platform, "machine", lambda: processes.MACHINES[0])
    with pytest.raises(UsageError) as caught:
        refuse_debugging(5)
    assert str(caught.value) == "process 5 is being debugged already, by process 77 (try: end process 77 first)"


def test_another_kind_of_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(UsageError, match="not supported on riscv64"):
        refuse_debugging(5)


@pytest.mark.parametrize("command", [["attach", "1"], ["hunt", "train.py"]])
@pytest.mark.parametrize("option", [["--every", "1s"], ["--findings", "f"], ["--state", "f"], ["--metrics", "9100"]])
def test_options_of_follow_are_refused_without_it(
    command: list[str], option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [command[0], *option, *command[1:]]
    assert main(words) == 2
    assert f"{option[0]} is an option of --follow (try: --follow {option[0]})" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can run a process as another user")
def test_a_process_that_runs_as_another_user_is_refused_with_the_command_that_works(tmp_path: Path) -> None:
    nobody = 65534
    with subprocess.Popen(["sleep", "1000"], user=nobody) as program:
        try:
            # until it runs its program, a process that has become another user belongs to root
            assert comes_true(lambda: os.stat(f"/proc/{program.pid}").st_uid == nobody)
            told = complaint(program.pid)
        finally:
            program.kill()
    assert told.startswith(f"process {program.pid} runs as ")
    assert f"gradlife attach {program.pid})" in told
