"""Every branch for Linux has another for other systems, which a build here never compiles."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "csrc"
BRANCHES = sorted(path for path in SOURCES.rglob("*.[ch]pp") if "__linux__" in path.read_text(encoding="utf-8"))


def complaints(source: Path, *flags: str, then: str = "") -> str:
    """What the compiler says about a source, and about a line after it."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("this machine has no C++ compiler")
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Wno-cast-function-type")
    folders = (f"-I{SOURCES}", f"-I{sysconfig.get_paths()['include']}")
    command = [compiler, "-x", "c++", "-std=c++17", "-fsyntax-only", *warnings, *folders, *flags, "-"]
    text = f'#include "{source.relative_to(SOURCES)}"\n{then}\n'
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=900).stderr


@pytest.mark.parametrize("source", BRANCHES, ids=lambda path: path.name)
def test_the_branch_for_systems_that_are_not_linux_compiles(source: Path) -> None:
    found = complaints(source, "-U__linux__")
    if "unknown multiarch location for pyconfig.h" in found:
        pytest.skip("the headers of this Python are of a distribution that knows Linux only")
    assert found == ""


def test_the_branch_for_a_build_under_address_sanitizer_compiles() -> None:
    """It broke when arrays came to grow by whole huge pages: a function stood there twice."""
    assert complaints(SOURCES / "heapgraph/graph/pages.hpp", "-D__SANITIZE_ADDRESS__=1") == ""


@pytest.mark.parametrize("address", ["0xffff8c000000", "0xaaaad5a00000"])
def test_addresses_of_programs_on_arm64_are_believed_there(address: str) -> None:
    """Its kernels put libraries and stacks at the end of 48 bits, and programs at two thirds of them."""
    reader = SOURCES / "heap_py/memory/memory_reader.hpp"
    claim = f"static_assert({{}}gradlife::heap::looks_like_pointer({address}, gradlife::heap::end_of_addresses({{}})));"
    assert complaints(reader, then=claim.format("", "true")) == ""
    assert complaints(reader, then=claim.format("!", "false")) == ""
    here = f"static_assert(gradlife::heap::looks_like_pointer({address}));"
    assert complaints(reader, "-D__aarch64__", then=here) == ""
