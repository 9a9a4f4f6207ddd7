"""`make valgrind` sees what is wrong in a library that is called as the engine is, and leaves alone what others lose."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.hardening.memcheck import memcheck

FAULTY = """
#include <stdlib.h>
#include <unistd.h>
int read_freed(void) { volatile int *block = malloc(8); free((void *)block); return block[0]; }
int read_unset(void) { volatile int *block = malloc(8); if (block[0] > 1) getpid(); free((void *)block); return 0; }
int lose(void) { volatile char *block = malloc(24); block = malloc(25); free((void *)block); return 0; }
int in_child(void) { if (fork() == 0) { read_freed(); _exit(0); } return 0; }
"""
CALLING = """
int NAME(void);
int main(void) { NAME(); return 0; }
"""
pytestmark = [
    pytest.mark.allocator,
    pytest.mark.skipif(
        shutil.which("valgrind") is None or shutil.which("cc") is None, reason="valgrind or a C compiler is missing"
    ),
]


def found_in(folder: Path, library: str, function: str) -> tuple[int, list[str]]:
    """Exit status and kinds of errors of a program that calls the one function of the library."""
    (folder / "faulty.c").write_text(FAULTY)
    (folder / "calling.c").write_text(CALLING.replace("NAME", function))
    compile_c("-O0", "-g", "-shared", "-fPIC", "-o", str(folder / library), str(folder / "faulty.c"))
    compile_c(str(folder / "calling.c"), str(folder / library), f"-Wl,-rpath,{folder}", "-o", str(folder / "calling"))
    status, found, _ = memcheck([str(folder / "calling")])
    return status, [each.kind for each in found]


def compile_c(*arguments: str) -> None:
    subprocess.run(["cc", *arguments], check=True, timeout=900)


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        ("read_freed", ["InvalidRead"]),
        ("read_unset", ["UninitCondition"]),
        ("lose", ["Leak_DefinitelyLost"]),
        ("in_child", ["InvalidRead"]),
    ],
)
def test_an_error_in_the_engine_is_found(tmp_path: Path, function: str, kinds: list[str]) -> None:
    assert found_in(tmp_path, "_engine.faulty.so", function) == (0, kinds)


def test_what_another_library_loses_is_not_reported(tmp_path: Path) -> None:
    assert found_in(tmp_path, "libother.so", "lose") == (0, [])


def test_a_wrong_read_of_another_library_is_reported(tmp_path: Path) -> None:
    assert found_in(tmp_path, "libother.so", "read_freed") == (0, ["InvalidRead"])
