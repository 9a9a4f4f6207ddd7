"""Hunt all cases of a corpus and compare the findings with their labels. Run with `make corpus CORPUS=FOLDER`.

Each case is hunted like a user's program, on a copy without its label and name; `--rename` also replaces all its own
names, and reports where that changes a code.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.corpus.cases import Case, CaseError, bare, read_case, write_copy
from benchmarks.corpus.judge import Judgement, total
from benchmarks.corpus.renaming import renamed
from benchmarks.corpus.running import judged
from benchmarks.corpus.table import print_corpus

VARIANTS = ("step", "fixed_step")


@dataclass(frozen=True)
class Both:
    """A variant under its own names and under others."""

    plain: Judgement
    renamed: Judgement | None = None

    @property
    def is_stable(self) -> bool:
        """Whether the result is the same under any names."""
        other = self.renamed
        return other is None or (self.plain.codes, self.plain.verdict) == (other.codes, other.verdict)


def main() -> int:
    """Print the table; 0 if all targets are met."""
    arguments = parse_arguments()
    cases = list(cases_in(Path(arguments.folder), arguments.k))
    variants = VARIANTS[: 1 if arguments.no_fixed else 2]
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        results = list(hunt_all(cases, variants, Path(folder), arguments))
    print_corpus([(one.plain, one.renamed) for one in results])
    if arguments.json:
        document = {
            "totals": asdict(total([one.plain for one in results])),
            "runs": [asdict(one.plain) for one in results],
            "renamed": [asdict(one.renamed) for one in results if one.renamed is not None],
        }
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if total([one.plain for one in results]).is_done and all(one.is_stable for one in results) else 1


def hunt_all(
    cases: list[Case], variants: tuple[str, ...], folder: Path, arguments: argparse.Namespace
) -> Iterator[Both]:
    """Hunt every variant of every case, several at a time; report each as it ends."""
    jobs = [(case, variant) for case in cases for variant in variants]
    chance = random.Random(arguments.seed)
    copies = {case.slug: write_copy(bare(case.tree), folder, chance) for case in cases}
    others = (
        {case.slug: write_copy(renamed(bare(case.tree)), folder, chance) for case in cases} if arguments.rename else {}
    )

    def both(job: tuple[Case, str]) -> Both:
        case, variant = job
        plain = judged(case, copies[case.slug], variant, arguments.limit)
        other = judged(case, others[case.slug], variant, arguments.limit) if others else None
        return Both(plain, other)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number, done in enumerate(pool.map(both, jobs), 1):
            print(f"{number}/{len(jobs)} {done.plain.slug} {done.plain.variant}: {done.plain.outcome}", file=sys.stderr)
            yield done


def cases_in(folder: Path, text: str) -> Iterator[Case]:
    """Return the cases of a folder whose names contain a text."""
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder}: name the one that has the labelled programs, make corpus CORPUS=FOLDER")
    found = False
    for path in sorted(folder.glob("*.py")):
        if text in path.stem:
            try:
                yield read_case(path)
            except CaseError as error:
                sys.exit(str(error))
            found = True
    if not found:
        sys.exit(f"no case in {folder}" + (f" has {text!r} in its name" if text else ""))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.corpus", description=__doc__)
    parser.add_argument("folder", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a hunt is killed (default 120)")
    parser.add_argument("--rename", action="store_true", help="hunt each once more, all its own names replaced")
    parser.add_argument("--no-fixed", action="store_true", help="leave fixed_step out")
    parser.add_argument("--seed", type=int, default=None, help="of the names of the copies")
    parser.add_argument("--json", metavar="FILE", help="write everything here as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
