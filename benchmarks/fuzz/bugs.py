"""Ten bugs, seeded one at a time: does the fuzzer find each, and after how many programs? Run with `make fuzz-bugs`.

Each bug is `torch-2.13` with one ownership policy replaced by a mistake that a framework made, or could make. The fuzzer
is told nothing of it: it runs its programs in order until PyTorch shows something else, or the engine ends the process.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from benchmarks.fuzz.__main__ import load_systems
from benchmarks.fuzz.campaign import Systems, run_slices
from benchmarks.fuzz.children import in_child
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
    """How a bug was found: after how many programs, by what difference; `programs` is the limit where it was not."""

    bug: str
    programs: int
    kind: str = ""
    step: str = ""

    def line(self) -> str:
        """The hunt in one line of the table."""
        found = f"{self.kind} at `{self.step[:60]}`" if self.kind else "NOT FOUND"
        return f"{self.bug:<40} {self.programs:>6,}  {found}"


def hunted(systems: Systems, bug: str, seed: int, limit: int) -> Hunt:
    """Run programs until one shows a difference that has no known reason."""
    systems.first.set_default_profile(f"{PROFILE}+{bug}")
    for one in run_slices(systems, seed, 0, limit, shrinks=0):
        for item in one.found:
            if not known_reason(item.program, item.difference):
                steps = item.program.steps
                number = item.difference.step
                text = steps[number].text if number < len(steps) else "all names dropped"
                return Hunt(bug, item.index + 1, item.difference.kind, text)
    return Hunt(bug, limit)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-bugs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=5000, help="programs to try for each bug, at most")
    arguments = parser.parse_args()
    systems = load_systems(PROFILE)
    found = 0
    for bug in BUGS:
        hunt = in_child(lambda bug=bug: hunted(systems, bug, arguments.seed, arguments.limit))  # type: ignore[misc]
        print(hunt.line() + f"  ({BUGS[bug]})", flush=True)
        found += bool(hunt.kind)
    print(f"{found} of {len(BUGS)} bugs found")
    return 0 if found == len(BUGS) else 1


if __name__ == "__main__":
    sys.exit(main())
