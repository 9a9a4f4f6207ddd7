"""A sample of `make alloc-failures`: each allocation fails in turn, and nothing is seen but MemoryError."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sources import ROOT

SAMPLE = [
    "function_backward under torch-1.1",
    "function_backward under torch-2.13",
    "hooks_run under torch-1.10",
    "hooks_run under torch-2.13",
    "backward_with_unpacking under torch-2.13",
    "views_changed under torch-2.13",
    "_nn_linear",
    "cumsum_",
    "_pop_saved_tensors_default_hooks",
    "_set_grad_enabled",
    "TensorBase.__delitem__",
]


@pytest.mark.whole
@pytest.mark.allocator
def test_nothing_but_a_memory_error_comes_of_a_failed_allocation() -> None:
    command = [sys.executable, "-m", "benchmarks.hardening.alloc_failures"]
    command += [option for which in SAMPLE for option in ("--only", which)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert " 0 wrong" in done.stdout
