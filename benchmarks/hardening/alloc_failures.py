"""Call every entry point of the engine with each of its allocations failing in turn. Run with `make alloc-failures`.

A call whose n-th allocation fails must raise MemoryError or manage without; it keeps nothing alive, and the next call
works. CPython's allocators fail, and the engine's own. Exit status 0 if nothing else happened.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.fuzz.children import Died, in_child
from benchmarks.hardening import injector
from benchmarks.hardening.given import REFUSING

SECONDS = 120  # seconds for one entry point; they take one at most


def main() -> int:
    arguments = parse_arguments()
    if injector.PATH in os.environ:
        return run(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            library = injector.compile_injector(Path(folder))
        except RuntimeError as error:
            print(f"skipped: {error}")
            return 0
        again = [sys.executable, "-m", "benchmarks.hardening.alloc_failures", *sys.argv[1:]]
        return subprocess.run(again, env=injector.environment(library), check=False).returncode


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make alloc-failures", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1, help="take every n-th entry point only")
    parser.add_argument("--only", action="append", help="entry points with this in their name; may be given again")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> int:
    """Run in the child with the injector: another child for each entry point, so that a crash is a result."""
    from benchmarks.hardening import checks

    started = time.perf_counter()
    tool = injector.Injector.load()
    gc.freeze()
    wanted = arguments.only or [""]
    chosen = [name for name in checks.names() if any(each in name for each in wanted)][:: arguments.every]
    found = {name: in_child(partial(checks.check, name, tool), SECONDS) for name in chosen}
    return report(found, time.perf_counter() - started)


def report(found: dict[str, Any], seconds: float) -> int:
    wrong = [f"{name}: {end.text}" for name, end in found.items() if isinstance(end, Died)]
    checked = [each for each in found.values() if not isinstance(each, Died)]
    wrong += [line for each in checked for line in each.wrong]
    refused = [name for name, each in found.items() if getattr(each, "is_refused", False)]
    wrong += [f"{name}: no call works, and no reason is written down" for name in refused if name not in REFUSING]
    wrong += [f"{name}: is said to refuse, and a call works" for name in REFUSING if name in {*found} - {*refused}]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(found)} entry points, {sum(each.cases for each in checked)} cases,", end=" ")
    print(f"{sum(each.faults for each in checked)} failed allocations,", end=" ")
    print(f"{sum(each.survived for each in checked)} of them done without, {len(wrong)} wrong, in {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
