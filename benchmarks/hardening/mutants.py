"""Read mutated files in children with a memory limit and five seconds of a processor per file; a child that dies is a
result.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

MEMORY = 1 << 30  # bytes of address space beyond what is mapped at the start
PATIENCE = 5.0  # seconds of a processor for one mutant: others may be busy with something else
ASLEEP = 60.0  # seconds for one mutant
A_CHILD = 500  # mutants that one child reads

Attempt = Callable[[int, Path], str]


def wrong(error: BaseException) -> str:
    """Return the outcome of an error that should not have come, with its place."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "?"
    return f"wrong: {type(error).__name__} at {where}: {' '.join(str(error).split())[:120]}"


def run_batch(seeds: list[int], attempt: Attempt, pipe: int) -> None:
    """Try mutants one after another and write a line for each; an alarm kills one that takes too long."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder, open(pipe, "w", buffering=1, encoding="utf-8") as lines:
        for seed in seeds:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            signal.setitimer(signal.ITIMER_REAL, ASLEEP)
            outcome = attempt(seed, Path(folder))
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            lines.write(outcome.encode("ascii", "backslashreplace").decode() + "\n")


def outcomes_of(seeds: list[int], attempt: Attempt) -> list[str]:
    """Return the outcome of each mutant up to the first that killed its child."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            run_batch(seeds, attempt, write_end)
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, encoding="utf-8") as lines:
        outcomes = lines.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if len(outcomes) < len(seeds):
        died = "hung" if -status in (signal.SIGALRM, signal.SIGPROF) else f"died with {status}"
        outcomes.append(f"wrong: {died}")
    return outcomes


def run(description: str | None, attempt: Attempt, prepare: Callable[[], object] = tuple) -> int:
    """Try as many mutants as the command line asks for, and print their outcomes. Return the exit status.

    `prepare` is called before the first child is forked, which would import and compile within the time of a mutant.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000, help="mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first (default: %(default)s)")
    args = parser.parse_args()
    prepare()
    tally: Counter[str] = Counter()
    first: dict[str, int] = {}
    seed, end = args.seed, args.seed + args.count
    while seed < end:
        for outcome in outcomes_of(list(range(seed, min(seed + A_CHILD, end))), attempt):
            tally[outcome] += 1
            first.setdefault(outcome, seed)
            seed += 1
    bad = sum(count for outcome, count in tally.items() if outcome.startswith("wrong"))
    for outcome, count in tally.most_common():
        if outcome.startswith("wrong"):
            print(f"{count:7,} {outcome} (first: --seed {first[outcome]} --count 1)")
    print(f"{args.count:,} mutants: {tally['answered']:,} answered, {tally['refused']:,} refused, {bad:,} wrong")
    return 1 if bad else 0
