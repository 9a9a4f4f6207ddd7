"""`gradlife bisect`: the first commit, or the first release of a library, with a leak."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gradlife.bisection.bisect import bisect
from gradlife.bisection.commits import Repository
from gradlife.bisection.followed import MIN_DIGITS, Hunted, Surroundings, hunt_in
from gradlife.bisection.releases import Environments, ReleaseRange, range_of, releases_in, versions_from_pip
from gradlife.bisection.search import most_hunts
from gradlife.cli.formats import Outputs, Writer
from gradlife.cli.options.steps import number
from gradlife.cli.parser import Parser
from gradlife.cli.progress import working
from gradlife.cli.report_file import add_force
from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, GradlifeError, UsageError, shortened
from gradlife.model.bisection import Bisected, Candidate, Judged, Outcome
from gradlife.output import say
from gradlife.reports.theme import make_console
from gradlife.reports.values import counted

EPILOG = """\
  gradlife bisect GOOD BAD -- hunt train.py            commits from GOOD to BAD
  gradlife bisect torch==2.9..2.14 -- hunt train.py    releases, as pip has them

GOOD has no such leak and BAD has it. Each commit is checked out in a worktree
of its own, without files that git does not track. Each release is installed in
an environment of its own; all other packages are those that are here. One that
does not run is skipped. What follows -- is a command line of gradlife hunt.

Exit status: 0 the first bad one is known; 2 usage error, such as a GOOD that is
bad already; 3 could not tell, or it is one of several that were skipped.
"""

WRITERS: dict[str, Writer] = {
    "json": "gradlife.reports.hunt.bisection:bisection_text",
    "markdown": "gradlife.reports.formats.markdown.document:markdown_of",
}

USAGE = "gradlife bisect GOOD BAD -- hunt train.py"


class TakeWords(argparse.Action):
    """Takes what is bisected, options after it, and the command after the dashes, which argparse would drop."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Keep the words."""
        assert isinstance(values, list)
        namespace.words = values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument(
        "words",
        action=TakeWords,
        nargs=argparse.PARSER,
        metavar="WHAT",
        help="GOOD BAD, or PACKAGE==OLD..NEW; see below",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--fingerprint",
        type=fingerprint,
        metavar="DIGITS",
        help="the finding to follow, if several are new",
    )
    parser.add_argument("--timeout", type=number, metavar="SECONDS", help="skip one whose hunt takes longer")
    parser.add_argument(
        "--with",
        dest="requirements",
        action="append",
        default=[],
        metavar="FILE",
        help="of releases: a file of requirements to install, too",
    )
    parser.add_argument("--keep", metavar="FOLDER", help="of releases: keep the environments here, and use them again")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    parser.add_argument("--markdown", metavar="FILE", help="write it for an issue or a pull request")
    add_force(parser)


def fingerprint(text: str) -> str:
    """Parse the beginning of a fingerprint."""
    if not re.fullmatch(f"[0-9a-f]{{{MIN_DIGITS},64}}", text):
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is no fingerprint, nor {MIN_DIGITS} digits of one")
    return text


def run(args: argparse.Namespace) -> int:
    """Bisect, show the result and write it."""
    what, command = split(args)
    ranges = [range_of(word) for word in what]
    with Outputs(args, WRITERS) as outputs:
        if len(what) == 1 and ranges[0] is not None:
            result = bisect_releases(args, ranges[0], command)
        elif len(what) == 2:
            result = bisect_commits(args, what, command)
        else:
            raise UsageError("bisect takes two commits, or PACKAGE==OLD..NEW", USAGE)
        from gradlife.reports.hunt.bisection import print_bisection

        print_bisection(make_console(sys.stderr if outputs.is_stdout_taken else sys.stdout), result)
        outputs.write(result)
    return EXIT_CLEAN if result.is_certain else EXIT_COULD_NOT_TELL


def split(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return what is bisected and the words after `hunt`. Options between them are taken. Raises UsageError."""
    words: list[str] = args.words
    if "--" not in words:
        raise UsageError("bisect needs the command of a hunt", USAGE)
    at = words.index("--")
    late = Parser(prog="gradlife bisect", add_help=False, argument_default=argparse.SUPPRESS)
    add_options(late)
    for action in late._actions:
        action.default = argparse.SUPPRESS
    late.add_argument("what", nargs="+")
    late.parse_args(words[:at], namespace=args)
    command = words[at + 1 :]
    if command[:1] == ["gradlife"]:
        del command[0]
    if command[:1] != ["hunt"] or not command[1:]:
        raise UsageError("bisect follows a finding of gradlife hunt: after -- comes hunt TARGET", USAGE)
    if any(word == "--json" or word.startswith("--json=") for word in leading_options(command[1:])):
        raise UsageError("bisect reads the JSON report of each hunt itself", "--json before the two dashes")
    return args.what, command[1:]


def leading_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the words before the first that may be the program."""
    for word in words:
        if word.endswith(".py") or "::" in word:
            return
        yield word


def bisect_commits(args: argparse.Namespace, what: Sequence[str], command: Sequence[str]) -> Bisected:
    """Bisect between two commits."""
    repository = Repository(".")
    good, bad = map(repository.commit, what)
    row = repository.between(good, bad)
    say_start(f"{counted(len(row), 'commit')} from {good.name} to {bad.name}", len(row))
    with repository.worktree() as worktree:
        hunt = hunter(worktree.place, command, args.timeout)
        result = bisect(good, row, hunt, see, args.fingerprint or "")
    if result.is_certain and repository.is_merge(result.suspects[0]):
        name = result.suspects[0].name
        say(f"gradlife: {name} is a merge: gradlife bisect $(git merge-base {name}^1 {name}^2) {name}^2 looks into it")
    return result


def bisect_releases(args: argparse.Namespace, wanted: ReleaseRange, command: Sequence[str]) -> Bisected:
    """Bisect between two releases of a library."""
    for file in args.requirements:
        if not Path(file).is_file():
            raise UsageError(
                f"--with {shortened(file)}: there is no such file", "a file as pip reads it: requirements.txt"
            )
    good, *row = releases_in(wanted, versions_from_pip(wanted.name))
    say_start(f"{counted(len(row) + 1, 'release')} from {good.name} to {row[-1].name}", len(row))
    with environments_folder(args.keep) as folder:
        environments = Environments(wanted.name, folder, args.requirements, args.keep is not None)
        hunt = hunter(environments.place, command, args.timeout, environments.done_with)
        return bisect(good, row, hunt, see, args.fingerprint or "")


@contextmanager
def environments_folder(kept: str | None) -> Iterator[Path]:
    """Return the folder for environments: a temporary one, or one that stays."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="gradlife-bisect-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    folder = Path(kept).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--keep {shortened(kept)}: {error.strerror}", "another folder") from None
    yield folder


def hunter(
    place: Callable[[Candidate], Surroundings],
    command: Sequence[str],
    timeout: float | None,
    done: Callable[[Candidate], object] = lambda candidate: None,
) -> Callable[[Candidate], Hunted]:
    """Return the function that hunts at a commit or with a release."""

    def hunt(candidate: Candidate) -> Hunted:
        try:
            with working(f"hunting at {candidate.name} {candidate.title}".rstrip()):
                return hunt_in(place(candidate), command, timeout)
        except GradlifeError as error:
            return Hunted(trouble=error.message)
        finally:
            done(candidate)

    return hunt


def say_start(what: str, count: int) -> None:
    """Say how many there are, and about how many are hunted in."""
    most = most_hunts(count)
    say(f"gradlife: bisecting {what}: both ends" + (f", then about {counted(most, 'hunt')}" if most else ""))


def see(judged: Judged) -> None:
    """Say what a hunt found."""
    why = f": {judged.why}" if judged.outcome is Outcome.SKIPPED else ""
    say(f"  {judged.outcome.value:<8}{judged.candidate.name}  {judged.candidate.title}".rstrip() + why)
