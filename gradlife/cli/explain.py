"""`gradlife explain`: one story in full, the meaning of a pattern, or what may grow."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from rich.console import Console

from gradlife.backends.registry import DEFAULT_BACKENDS, backend_names
from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.report_file import add_force
from gradlife.errors import GradlifeError, UnknownNameError, UsageError
from gradlife.hunting.findings.expectations import EXPECTATIONS
from gradlife.model import Declared, RunReport, ScenarioInfo, SystemInfo
from gradlife.patterns import SENTENCES, is_code
from gradlife.reports.hunt.expectations import print_expectations
from gradlife.reports.hunt.pattern import print_pattern
from gradlife.reports.run.story import Explanation, Fix, print_explanation
from gradlife.reports.source_diff import body_lines, source_diff
from gradlife.reports.theme import make_console
from gradlife.runner import api
from gradlife.runner.discover import Story, discover, select_named
from gradlife.runner.expectations import applicable

PREFIX = "mini:"

#: The name of the table of growth that is expected.
TABLE = "expectations"

#: Default system whose ownership trees are shown and with which others are compared.
SHOWN_IN_FULL = "mini:torch-2.13"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "name",
        metavar=f"NAME | PATH::NAME | GLnnn | {TABLE}",
        help=f"a story, the code of a pattern, or {TABLE}: what a hunt expects to grow",
    )
    parser.add_argument(
        "--backend", nargs="+", action="extend", metavar="NAME", help="systems to run it on, instead of all mini ones"
    )
    parser.add_argument("--no-run", action="store_true", help="describe a built-in story without running it")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Explain the story, the pattern or the table."""

    def show(console: Console, tell: Callable[[Console], None]) -> None:
        tell(console)

    with Outputs(args, {"svg": picture(show, f"gradlife explain {args.name}")}) as outputs:
        tell = printer_for(args)
        if not outputs.is_stdout_taken:
            tell(make_console(sys.stdout))
        outputs.write(tell)
    return 0


def printer_for(args: argparse.Namespace) -> Callable[[Console], None]:
    """Return the function that prints the page of a story or pattern."""
    if is_code(args.name):
        code = args.name.upper()
        stories = stories_about(code)
        return lambda console: print_pattern(console, code, stories)
    if args.name == TABLE:
        return lambda console: print_expectations(console, EXPECTATIONS)
    story, catalogue = find_built_in(args.name) if args.no_run else find(args.name)
    own = PREFIX + story.info.profile if story.info.profile else ""
    backends = args.backend or ([own] if own else None)
    report, why_not = (None, "") if args.no_run else try_out(args.name, backends)
    fixes = [fix_of(story, twin) for twin in catalogue if twin.info.fixed_of == story.info.name]
    owners_in = backends or [SHOWN_IN_FULL]
    profiles = declared_by_profile(story.info)
    explanation = Explanation(story.info, profiles, fixes, report, why_not, owners_in)
    return lambda console: print_explanation(console, explanation)


def stories_about(code: str) -> list[ScenarioInfo]:
    """Return the built-in stories with a pattern. Raises UnknownNameError for an unknown code."""
    known = api.select()
    codes = sorted({*SENTENCES, *(story.pattern for story in known if story.pattern)})
    if code not in codes:
        raise UnknownNameError("pattern", code, codes, hint="one of " + " ".join(codes))
    return [story for story in known if story.pattern == code]


def find_built_in(name: str) -> tuple[Story, Sequence[Story]]:
    """Return a story that comes with gradlife, and the stories that include its twins. No other file is imported."""
    if os.path.exists(name.partition("::")[0]) or os.sep in name or "::" in name:
        raise UsageError(
            f"{name} is a file, which runs when it is imported; --no-run describes only the stories of gradlife",
            f"gradlife explain {name}",
        )
    known = discover()
    found = select_named(known, name)
    return found[0], [story for story in known if story.path == found[0].path]


def find(name: str) -> tuple[Story, Sequence[Story]]:
    """Return the story of this name, and the stories that include its twins."""
    chosen = discover([name])
    if len(chosen) > 1:
        names = ", ".join(story.info.name for story in chosen[:3])
        place = f"{name}::NAME with " if os.path.exists(name) else ""
        raise UsageError(f"{name} has {len(chosen)} stories", f"{place}one of {names}, ...")
    return chosen[0], discover([str(chosen[0].path)])


def fix_of(story: Story, twin: Story) -> Fix:
    """Return a twin and its difference from the story: its source, and the profile where that is what differs."""
    leaking, fixed = lines_of(story), lines_of(twin)
    return Fix(twin.info, source_diff(leaking, fixed) if leaking and fixed else ())


def lines_of(story: Story) -> list[str]:
    """Return the source of a story below the profile that it runs on, if it names one; empty if it cannot be read."""
    lines = body_lines(str(story.path), story.info.name)
    return [f'profile="{story.info.profile}"', *lines] if lines and story.info.profile else lines


def try_out(name: str, backends: Sequence[str] | None) -> tuple[RunReport | None, str]:
    """Run the story on the mini engine or the given systems; or return why that is not possible."""
    if backends:
        return api.run([name], backends=backends, with_owners=True), ""
    mini = [system for system in DEFAULT_BACKENDS if system.startswith(PREFIX)]
    try:
        return api.run([name], backends=mini, against=SHOWN_IN_FULL, with_owners=True), ""
    except GradlifeError as error:
        return None, f"It was not run: {error}"


def declared_by_profile(story: ScenarioInfo) -> list[tuple[str, tuple[Declared, ...]]]:
    """Return what a story declares for each profile, or for its own."""
    if story.profile:
        return [(story.profile, applicable(story, system_of(story.profile.partition("+")[0])))]
    names = [name for name in backend_names() if name.startswith(PREFIX)]
    profiles = [name.removeprefix(PREFIX) for name in names or DEFAULT_BACKENDS if name.startswith(PREFIX)]
    return [(profile, applicable(story, system_of(profile))) for profile in profiles]


def system_of(profile: str) -> SystemInfo:
    """Return the system that a declaration about a profile applies to."""
    return SystemInfo(PREFIX + profile, profile, "", "", "", "")
