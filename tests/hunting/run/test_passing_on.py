"""Signals to a process that waits for a program, which it passes on to that."""

from __future__ import annotations

import pytest

from leftovers import run_script

#: The main thread waits for a child that sleeps, and is not woken by the signal that comes to the process.
WAITS = """\
import os, signal, subprocess, sys
from gradlife.program.parent import passing_on

with passing_on() as forward:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    FIRST
    THEN
    print(-child.wait())
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, signal.set_wakeup_fd(-1))
"""
ADDS, SENDS = "forward(child)", "os.kill(os.getpid(), signal.SIGTERM)"


@pytest.mark.parametrize(("first", "then"), [(ADDS, SENDS), (SENDS, ADDS)], ids=["child first", "signal first"])
def test_a_signal_reaches_the_program_whatever_the_main_thread_waits_for(first: str, then: str) -> None:
    """A handler of Python did not run until the wait was over if the signal came just before it."""
    done = run_script(WAITS.replace("FIRST", first).replace("THEN", then))
    assert (done.stdout, done.stderr) == ("15\nTrue -1\n", "")
