"""`gradlife open FILE --tui` as it is typed: on a terminal, without one, without Textual."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

WITHOUT_TEXTUAL = """
import importlib.util
import sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "textual" else find(name, *rest)
from gradlife.cli import main
sys.exit(main())
"""


def run(*arguments: str, script: str = "") -> tuple[int, str]:
    """The exit status, and what was said."""
    command = [sys.executable, "-c", script] if script else [sys.executable, "-m", "gradlife"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_without_a_terminal_it_says_so_in_a_line(heap_file: str) -> None:
    expected = f"gradlife: error: --tui needs a terminal to draw on (try: gradlife open {heap_file})\n"
    assert run("open", heap_file, "--tui") == (2, expected)


def test_without_textual_it_names_the_command_that_installs_it(heap_file: str) -> None:
    expected = "gradlife: error: textual is not installed (try: pip install 'gradlife[hunt]')\n"
    assert run("open", heap_file, "--tui", script=WITHOUT_TEXTUAL) == (2, expected)


@pytest.mark.parametrize("other", [["--types"], ["--why", "Order"], ["--json", "-"], ["--interactive"]])
def test_with_what_prints_something_it_is_refused(heap_file: str, other: list[str]) -> None:
    text = f"gradlife: error: --tui shows everything, and takes no {other[0]} (try: gradlife open {heap_file} --tui)\n"
    assert run("open", heap_file, "--tui", *other) == (2, text)


def on_a_terminal(file: str, until: bytes, keys: bytes) -> tuple[int, bytes]:
    """The exit status on a terminal of its own where the keys are pressed once a text stands there; what was written."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    command = [sys.executable, "-m", "gradlife", "open", file, "--tui"]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True)
    os.close(theirs)
    written, is_pressed, deadline = b"", False, time.monotonic() + 900
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 1.0)[0]:
                try:
                    part = os.read(ours, 1 << 16)
                except OSError:  # Linux: the other end is closed
                    break
                written += part
                if not part:
                    break
            if until in written and not is_pressed:
                is_pressed = os.write(ours, keys) > 0
        return child.wait(timeout=900), written
    finally:
        child.kill()
        os.close(ours)


def test_on_a_terminal_it_draws_and_q_ends_it(heap_file: str) -> None:
    status, written = on_a_terminal(heap_file, b"bytearray", b"q")
    assert status == 0
    assert b"Holders" in written


def test_a_file_that_cannot_be_read_is_reported_in_a_line_after_the_screen_is_given_back(tmp_path: Path) -> None:
    status, written = on_a_terminal(str(tmp_path / "absent.glheap"), b"never", b"")
    assert status == 2
    last = written.replace(b"\r\n", b"\n").rstrip().splitlines()[-1].decode()
    assert last.endswith(
        "absent.glheap: no such file or directory (try: the name of a file that gradlife snapshot wrote)"
    )
