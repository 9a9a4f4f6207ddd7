"""Seeded bugs, one at a time: does the fuzzer find each, and after how many programs? Run with `make fuzz-bugs`.

Ten are `torch-2.13` with one ownership policy replaced by a mistake that a framework made or could make; the others are
compiled into the engine's C++ (benchmarks/fuzz/faults.py). The fuzzer does not know the bug: it runs its programs in
order until PyTorch differs, or the engine ends the process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass

from benchmarks.fuzz.__main__ import load_systems
from benchmarks.fuzz.campaign import Systems, run_slices
from benchmarks.fuzz.children import in_child
from benchmarks.fuzz.faults import FAULTS, ROOT, built
from benchmarks.fuzz.known import known_reason

PROFILE = "torch-2.13"
BUGS = {
    "function_ownership=weak_at_construction": "a node's context is held weakly from the start",
    "function_ownership=ctx_owns_node": "the context owns the node, which nobody else does",
    "tensor_identity=mutual": "a tensor and its wrapper own each other",
    "tensor_identity=cached": "a tensor forgets its wrapper, and what was put on it",
    "storage_identity=rewrap": "a storage is a new object each time",
    "node_identity=mutual": "a node and its wrapper own each other",
    "node_identity=rewrap": "a node is a new object each time",
    "saved_slot=owning": "a saved output owns its own node",
    "hook_references=extra": "one reference to each hook too many",
    "hook_references=borrowed": "one reference to each hook too few",
}


@dataclass(frozen=True)
class Hunt:
    """How a bug was found: after how many programs and by which difference; `programs` is the limit if it was not
    found.
    """

    bug: str
    programs: int
    kind: str = ""
    step: str = ""

    def line(self) -> str:
        """The hunt as one line of the table."""
        found = f"{self.kind} at `{self.step[:60]}`" if self.kind else "NOT FOUND"
        return f"{self.bug:<40} {self.programs:>6,}  {found}"


def hunted(systems: Systems, bug: str, seed: int, limit: int) -> Hunt:
    """Run programs until one shows an unexplained difference."""
    for one in run_slices(systems, seed, 0, limit, shrinks=0):
        for item in one.found:
            if not known_reason(item.program, item.difference):
                steps = item.program.steps
                number = item.difference.step
                text = steps[number].text if number < len(steps) else "all names dropped"
                return Hunt(bug, item.index + 1, item.difference.kind, text)
    return Hunt(bug, limit)


def hunt_of_policy(systems: Systems, bug: str, seed: int, limit: int) -> Hunt:
    systems.first.set_default_profile(f"{PROFILE}+{bug}")
    return hunted(systems, bug, seed, limit)


def policies_found(seed: int, limit: int) -> int:
    """Count the ownership mistakes found, and print how."""
    systems = load_systems(PROFILE)
    found = 0
    for bug in BUGS:
        hunt = in_child(lambda bug=bug: hunt_of_policy(systems, bug, seed, limit))  # type: ignore[misc]
        print(hunt.line() + f"  ({BUGS[bug]})", flush=True)
        found += bool(hunt.kind)
    return found


def faults_found(seed: int, limit: int) -> int:
    """Count the C++ mistakes found, and print how."""
    found = 0
    for fault in FAULTS:
        words = [str(built(fault)), "--name", fault.name, "--seed", str(seed), "--limit", str(limit)]
        hunt = subprocess.run([sys.executable, "-m", "benchmarks.fuzz.faulty", *words], cwd=ROOT, check=False)
        found += hunt.returncode == 0
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-bugs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=5000, help="programs to try for each bug, at most")
    parser.add_argument("--only", choices=("policies", "core"), help="the bugs of policies, or those in the C++, alone")
    arguments = parser.parse_args()
    found = wanted = 0
    if arguments.only != "core":
        found += policies_found(arguments.seed, arguments.limit)
        wanted += len(BUGS)
    if arguments.only != "policies":
        found += faults_found(arguments.seed, arguments.limit)
        wanted += len(FAULTS)
    print(f"{found} of {wanted} bugs found")
    return 0 if found == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
