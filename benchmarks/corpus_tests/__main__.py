"""Wrap each program of a corpus as a test, and compare failures with its label. Run with `make corpus-tests
CORPUS=FOLDER`.

Under the marker a program's state is a module fixture and a test is one step; with `--leaks` each test has its own
state, and objects that outlive it are judged.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.corpus.__main__ import cases_in
from benchmarks.corpus.cases import Case, meta_of
from benchmarks.corpus_tests.judging import Judged, expected, judged
from benchmarks.corpus_tests.running import test
from benchmarks.corpus_tests.table import print_judged
from benchmarks.corpus_tests.wrapping import ALLOWED, FIXED, STEP, SWEPT_FIXED, SWEPT_STEP, Wrapped, write


def main() -> int:
    """Print the table; 0 if all is as labelled."""
    arguments = parse_arguments()
    cases = list(cases_in(Path(arguments.folder), arguments.k))
    with tempfile.TemporaryDirectory(prefix="corpus-tests-") as name:
        folder = Path(arguments.keep or name)
        found = list(judge_all(cases, folder, arguments))
    print_judged(found)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    return 0 if all(one.is_right for one in found) else 1


def judge_all(cases: list[Case], folder: Path, arguments: argparse.Namespace) -> Iterator[Judged]:
    """Judge all variants of all programs, several at a time; report each as it ends."""

    def work(case: Case) -> list[Judged]:
        return [*judge_case(case, folder / case.slug, arguments)]

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number, done in enumerate(pool.map(work, cases), 1):
            for one in done:
                mark = "ok" if one.is_right else "WRONG"
                print(f"{number}/{len(cases)} {one.slug} {one.way}: {one.came} {mark}", file=sys.stderr)
            yield from done


def judge_case(case: Case, folder: Path, arguments: argparse.Namespace) -> Iterator[Judged]:
    """Judge the variants of one program in one process."""
    variants: list[Wrapped] = [SWEPT_STEP, SWEPT_FIXED, STEP, FIXED, *([ALLOWED] if case.kind == "needs-gc" else [])]
    write(case, variants, folder)
    nbytes = int(meta_of(case.tree).get("per_step_bytes", 0))
    ran = test(folder, [one.name for one in variants], arguments.limit)
    for one in variants:
        wanted = expected(case, one.name, ran.outliving, nbytes)
        yield judged(case, one.name, wanted, ran.checked.get(one.name, []), ran.said, ran.cpu_seconds)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.corpus_tests", description=__doc__)
    parser.add_argument("folder", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time (default 1)")
    parser.add_argument("--limit", type=float, default=240, help="seconds after which pytest is killed (default 240)")
    parser.add_argument("--keep", metavar="FOLDER", help="write the tests there, and leave them")
    parser.add_argument("--json", metavar="FILE", help="write everything here as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
