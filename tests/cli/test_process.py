from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradlife.cli import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED
from written import besides_files

ROOT = Path(__file__).resolve().parent.parent.parent


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gradlife", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def test_the_module_is_the_command() -> None:
    child = start("--version")
    output, errors = child.communicate(timeout=900)
    assert (child.returncode, errors) == (0, "")
    assert output.startswith("gradlife 0.")


def test_a_reader_that_goes_away_is_no_error() -> None:
    child = start("list")
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(900) == EXIT_BROKEN_PIPE


def test_a_reader_that_goes_away_does_not_cost_the_json(stories: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    child = start("run", stories, "--backend", "fake", "--json", str(file))
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert besides_files(child.stderr.read()) == ""
    child.stderr.close()
    assert child.wait(900) == EXIT_BROKEN_PIPE
    assert file.read_text(encoding="utf-8").startswith('{\n"format": "gradlife.run/1"')


def test_an_interrupted_run_ends_at_once_with_one_line(broken: str, tmp_path: Path) -> None:
    file, begins = tmp_path / "run.json", tmp_path / "begins"
    child = start("run", f"{broken}::hang", "--backend", "fake", "--json", str(file), HANG_BEGINS=str(begins))
    while not begins.exists() and child.poll() is None:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=900)
    assert (child.returncode, output, errors) == (EXIT_INTERRUPTED, "", "gradlife: interrupted\n")
    assert not file.exists()


def test_a_terminal_without_the_characters_gets_others(stories: str) -> None:
    child = start("list", stories, PYTHONIOENCODING="ascii")
    output, errors = child.communicate(timeout=900)
    assert (child.returncode, errors) == (0, "")
    assert output.isascii()


def test_help_and_errors_do_not_load_what_only_reports_need() -> None:
    code = "import sys; from gradlife.cli import main; main(['x']); print([n for n in ('rich', 'torch') if sys.modules.get(n)])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "[]\n"


#: Prints which of these modules are loaded when a hunt is about to start its program.
LOADED = """\
import sys
from gradlife.cli import main
from gradlife.program.hunt.parent import HuntGuard
late = ('rich', 'torch', 'gradlife._heap', 'gradlife.hunting.session', 'gradlife.reports')
HuntGuard.run = lambda self: sys.exit(str([name for name in late if name in sys.modules]))
main(['hunt', sys.argv[1]])
"""


@pytest.mark.torch
def test_a_hunt_starts_its_program_before_it_loads_what_only_its_report_needs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    command = [sys.executable, "-c", LOADED, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stderr == "[]\n"


def test_a_terminal_gets_a_progress_bar_on_standard_error_and_loses_it_again(stories: str) -> None:
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "gradlife", "run", stories, "--backend", "fake"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:  # first: a long run fills the terminal, and waits for its reader
        try:
            shown += os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
    os.close(ours)
    assert child.stdout is not None
    assert child.stdout.read().startswith("Systems\n")
    child.stdout.close()
    assert child.wait(900) == 0
    assert b"3/3" in shown
    assert shown.rstrip().endswith(b"\x1b[2K")


def in_shell(redirected: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "$0" -m gradlife "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=900,
        check=False,
    )


def test_a_full_output_is_one_line_and_could_not_tell() -> None:
    done = in_shell("> /dev/full", "list")
    assert done.stderr == "gradlife: error: standard output can't be written: No space left on device\n"
    assert done.returncode == 3


def test_closed_streams_cost_neither_the_status_nor_the_json(stories: str, tmp_path: Path) -> None:
    for closed in (">&-", "2>&-", ">&- 2>&- <&-"):
        file = tmp_path / "run.json"
        done = in_shell(closed, "run", stories, "--backend", "fake", "--json", str(file))
        assert (done.returncode, besides_files(done.stderr)) == (0, "")
        assert file.read_text(encoding="utf-8").startswith('{\n"format": "gradlife.run/1"')
        file.unlink()
