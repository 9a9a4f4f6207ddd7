"""The sanitizer reports that count: a leak of gradlife's own memory, and every error that is no leak."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sources import ROOT

LEAKS = """
=================================================================
==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 24 byte(s) in 1 object(s) allocated from:
    #0 0x7f52 in operator new(unsigned long) ../../asan/asan_new_delete.cpp:95
    #1 0x7f11 in gradlife::make() (/site/gradlife/{library}.cpython-311-x86_64-linux-gnu.so+0x1234)
    #2 0x7f12 in cfunction_call Objects/methodobject.c:553

Indirect leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f52 in malloc ../../asan/asan_malloc_linux.cpp:69
    #1 0x7f11 in gradlife::make() (/site/gradlife/{library}.cpython-311-x86_64-linux-gnu.so+0x1234)

SUMMARY: AddressSanitizer: 32 byte(s) leaked in 2 allocation(s).
"""
ERROR = """
==8==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020 at pc 0x7f6f bp 0x7ffc sp 0x7ffc
READ of size 8 at 0x6020 thread T0
    #0 0x7f6e in list_resize Objects/listobject.c:50
"""
KILLED = """==9==Can't open /proc/8/task for reading.
==8==LeakSanitizer has encountered a fatal error.
==8==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)
"""


def judged(folder: Path, *reports: str) -> tuple[int, str]:
    """Exit status and last line."""
    for number, report in enumerate(reports):
        (folder / f"of.{number}").write_text(report)
    command = [sys.executable, "-m", "benchmarks.hardening.leaks", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize("library", ["_engine", "_heap"])
def test_a_leak_of_gradlife_counts_once_for_all_processes(tmp_path: Path, library: str) -> None:
    report = LEAKS.replace("{library}", library)
    found = (1, "2 processes with a report, 0 errors, 1 different leaks of gradlife")
    assert judged(tmp_path, report, report.replace("0x7f11", "0x7e11")) == found


def test_what_the_interpreter_leaves_does_not_count(tmp_path: Path) -> None:
    report = LEAKS.replace("{library}", "_json")
    assert judged(tmp_path, report) == (0, "1 processes with a report, 0 errors, 0 different leaks of gradlife")


def test_an_error_counts_wherever_it_is(tmp_path: Path) -> None:
    assert judged(tmp_path, ERROR) == (1, "1 processes with a report, 1 errors, 0 different leaks of gradlife")


def test_no_report_is_well(tmp_path: Path) -> None:
    assert judged(tmp_path) == (0, "0 processes with a report, 0 errors, 0 different leaks of gradlife")


LOSING = """
#include <stdlib.h>
int lose(void) { volatile char *block = malloc(24); block = malloc(25); free((void *)block); return 0; }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is missing")
@pytest.mark.parametrize(("library", "different"), [("_engine.losing.so", 1), ("libother.so", 0)])
def test_what_leak_sanitizer_writes_is_understood(tmp_path: Path, library: str, different: int) -> None:
    (tmp_path / "losing.c").write_text(LOSING)
    (tmp_path / "calling.c").write_text("int lose(void); int main(void) { return lose(); }")
    reports = tmp_path / "reports"
    reports.mkdir()
    compile_c(tmp_path, "losing.c", "-shared", "-fPIC", "-o", library)
    compile_c(tmp_path, "calling.c", library, f"-Wl,-rpath,{tmp_path}", "-fsanitize=address", "-o", "calling")
    environment = {
        "ASAN_OPTIONS": f"detect_leaks=1:log_path={reports}/of",
        "LSAN_OPTIONS": f"exitcode=0:print_suppressions=0:suppressions={ROOT}/benchmarks/hardening/lsan.supp",
    }
    subprocess.run([str(tmp_path / "calling")], env={**os.environ, **environment}, check=True, timeout=900)
    last = f"1 processes with a report, 0 errors, {different} different leaks of gradlife"
    assert judged(reports) == (min(different, 1), last)


def compile_c(folder: Path, *arguments: str) -> None:
    subprocess.run(["gcc", "-O0", "-fno-omit-frame-pointer", *arguments], cwd=folder, check=True, timeout=900)


def test_a_process_that_was_killed_while_it_was_looked_at_has_no_error(tmp_path: Path) -> None:
    assert judged(tmp_path, KILLED) == (0, "1 processes with a report, 0 errors, 0 different leaks of gradlife")
    found = (1, "2 processes with a report, 1 errors, 0 different leaks of gradlife")
    assert judged(tmp_path, KILLED, KILLED + ERROR) == found
