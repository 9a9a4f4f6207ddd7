"""`gradlife hunt` in several processes: as one rank of a run, or as the launcher of all ranks."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable

from gradlife.errors import UsageError
from gradlife.hunting.process.memory_limits import Memory, system_limit
from gradlife.hunting.process.rank import PATIENCE, Rank, write_result
from gradlife.hunting.process.settings import Settings
from gradlife.hunting.steps.targets import MODULE_MARK
from gradlife.model.hunt import HuntReport
from gradlife.output import say
from gradlife.program.hunt.parent import HuntGuard
from gradlife.program.parent import Result
from gradlife.ranks.launch import launch, refuse_unfit, with_ranks
from gradlife.ranks.meeting import hurrying, meet
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import reports_in
from gradlife.ranks.run_folder import folder_for

#: Options that each rank gets unchanged.
HANDED_ON = ("steps", "step_on", "memory_limit")

#: Shows and writes the report of a run; returns the exit status.
Finish = Callable[[Result[HuntReport]], int]


def add_rank_options(parser: argparse.ArgumentParser, task: str = "hunt in each") -> None:
    """Add the options for runs with several processes. ``task``: what is done in each rank."""
    parser.add_argument(
        "--nproc-per-node", type=rank_count, metavar="N", help=f"start N ranks with torch.distributed.run, {task}"
    )
    parser.add_argument("--run-folder", metavar="FOLDER", help="keep the reports of the ranks in this folder")
    parser.add_argument(
        "--rank-timeout",
        type=seconds,
        default=PATIENCE,
        metavar="SECONDS",
        help="wait so long for the other ranks once one has ended (%(default)g)",
    )


def rank_count(text: str) -> int:
    """Parse a number of ranks."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks")
    return int(text)


def seconds(text: str) -> float:
    """Parse a time in seconds."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found


def refuse_prompts(args: argparse.Namespace) -> None:
    """Raise UsageError for options that only a hunt in one process has."""
    for name in ("interactive", "prove", "fix"):
        if getattr(args, name):
            raise UsageError(f"--{name} is for one process, and this is a run of several", "gradlife hunt SCRIPT")


def say_unproven(args: argparse.Namespace) -> None:
    """Print why there is no proof, if one was asked for and the program turned out to start ranks."""
    if args.prove:
        say("gradlife: nothing was proved: --prove is for one process, and the program started ranks")


def words_for_ranks(args: argparse.Namespace) -> list[str]:
    """Return the command line of one rank's hunt, after `gradlife`."""
    words = ["hunt", f"--at-rss={round(100 * args.at_rss)}"]
    for name in HANDED_ON:
        if getattr(args, name):
            words.append(f"--{name.replace('_', '-')}={getattr(args, name)}")
    if args.lines:
        words.append("--lines")
    return [*words, *target_words(args)]


def target_words(args: argparse.Namespace) -> list[str]:
    """Return the words for the program and its own arguments. ``--`` keeps these from being read as gradlife's."""
    is_module = args.target.startswith(MODULE_MARK)
    target = ["-m", args.target.removeprefix(MODULE_MARK)] if is_module else [args.target]
    python = ["python", *args.python] if args.python else []
    return [*python, *target, "--", *args.arguments]


def hunt_as_rank(args: argparse.Namespace, settings: Settings, rank: Rank, finish: Finish) -> int:
    """Hunt in this rank, and merge if this rank has to; return the exit status of the run."""
    refuse_prompts(args)
    folder = folder_for(rank, args.run_folder, os.environ)
    with hurrying() as hurry:
        own = folder.join(rank)
        settings = settings.for_rank(own, system_limit() // rank.local_world_size)
        memory = Memory(settings.memory_limit, args.at_rss)
        result = HuntGuard(settings, memory, hear_nothing, folder=own).run()
        write_result(own, result.status, result.status - 128 if result.was_killed else 0, memory.peak)

        def merge_and_show() -> int:
            report = merge(reports_in(folder.path), rank.world_size)
            return finish(Result(report.script_status or 0, report))

        return meet(folder, rank, result.status, args.rank_timeout, hurry, merge_and_show)


def hear_nothing(report: HuntReport) -> None:
    """Ignore the report of one rank, which is not shown by itself."""


def hunt_in_new_ranks(args: argparse.Namespace, finish: Finish) -> int:
    """Start the ranks, wait for them, and merge; return the exit status of the run."""
    refuse_prompts(args)
    refuse_unfit("hunt", args.target)
    count = args.nproc_per_node

    def collect(status: int, folder: str) -> Result[HuntReport]:
        return with_ranks(Result(status, None), folder, count)

    return finish(launch(count, words_for_ranks(args), args.run_folder, args.rank_timeout, collect))
