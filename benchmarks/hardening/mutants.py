"""Read mutated files in children with limits of memory and time by the size of each file; a child that dies is a result.

What is printed and written must have no character and no line that its reader would act on.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import resource
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from gradlife.cli import main
from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND, EXIT_USAGE

MEMORY = 256 << 20  # bytes of address space beyond what is mapped at the start, for a file of no size
MEMORY_OF_BYTE = 200  # bytes of address space for each byte of the file
PATIENCE = 5.0  # seconds of a processor for a file of no size: others may be busy with something else
PATIENCE_OF_BYTE = 20e-6  # seconds of a processor for each byte of the file
ASLEEP = 60.0  # seconds for one mutant
A_CHILD = 500  # mutants that one child reads

Attempt = Callable[[int, Path], str]

#: What CI runners read as commands: a line, a part of a line, and the lines that gradlife writes as commands.
COMMAND = re.compile(r"\s*::.*::")
PART = re.compile(r"##(?:\[|vso\[|teamcity\[)")
OWN_COMMAND = re.compile(r"::(error|warning) (file|title)=")


class Harmful(Exception):
    """An output has something that its reader would act on."""


def wrong(error: BaseException) -> str:
    """Return the outcome of an error that should not have come, with its place."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame is not None else "?"
    return f"wrong: {type(error).__name__} at {where}: {' '.join(str(error).split())[:120]}"


def limit_to(size: int) -> None:
    """Limit memory and a processor's time from here on to what a file of this size may take."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY + MEMORY_OF_BYTE * size
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, PATIENCE + PATIENCE_OF_BYTE * size)


def write(file: Path, data: bytes) -> None:
    """Write a mutant, and limit what reading it may take."""
    file.write_bytes(data)
    limit_to(len(data))


def check(text: str, name: str) -> str:
    """Return the text. Raises Harmful if it has something that a terminal, a browser or a CI runner would act on."""
    for row in text.split("\n"):
        if not row.replace("\t", "").isprintable():
            raise Harmful(f"a raw character in {name}: {row[:100]!a}")
        is_own = name == "github" and OWN_COMMAND.match(row)
        if PART.search(row) or (COMMAND.match(row) and not is_own):
            raise Harmful(f"a command in {name}: {row[:100]!a}")
    return text


def command(words: list[str], outputs: Iterable[Path] = ()) -> str:
    """Run a command of gradlife, check what it prints and the files that it writes, and return the outcome."""
    printed, errors = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(errors):
            status = main(words)
        check(printed.getvalue(), " ".join(words[:1]))
        said = check(errors.getvalue(), "standard error")
        for file in outputs:
            if file.exists():
                check(file.read_text(encoding="utf-8"), file.suffix)
    except Exception as error:  # any error is a bug, and this message reports it
        return wrong(error)
    if status == EXIT_USAGE:
        return "refused" if said.count("\n") == 1 else "wrong: not one line"
    return "answered" if status in (EXIT_CLEAN, EXIT_FOUND, EXIT_COULD_NOT_TELL) else f"wrong: status {status}"


def run_batch(seeds: list[int], attempt: Attempt, pipe: int) -> None:
    """Try mutants one after another and write a line for each; an alarm kills one that takes too long."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder, open(pipe, "w", buffering=1, encoding="utf-8") as lines:
        for seed in seeds:
            limit_to(0)
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
            os._exit(0)
        except BaseException:  # an error of the generator itself
            traceback.print_exc()
        finally:
            os._exit(1)
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
