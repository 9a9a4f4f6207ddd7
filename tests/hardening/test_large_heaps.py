"""Wide and deep: a list of ten million objects, a chain and a cycle of a million lists."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = "import gradlife; gradlife.snapshot(); print(gradlife.why(kept).lifetime.value)"
HEAPS = {
    "ten million objects in a list": "kept = [object() for _ in range(10_000_000)]",
    "a chain of a million lists": "kept = None\nfor _ in range(1_000_000): kept = [kept]",
    "a cycle of a million lists": "kept = last = [None]\nfor _ in range(999_999): kept = [kept]\nlast[0] = kept",
}


@pytest.mark.slow
@pytest.mark.parametrize("heap", HEAPS.values(), ids=list(HEAPS))
def test_a_large_heap_is_read_to_its_end(heap: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{heap}\n{ASK}"], capture_output=True, text=True, check=False, timeout=900
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "held\n", "")
