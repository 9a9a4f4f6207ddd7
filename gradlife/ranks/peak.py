"""`gradlife peak` in several processes: as one rank of a run, or as the launcher of all ranks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from gradlife.errors import UsageError
from gradlife.hunting.process.rank import Rank
from gradlife.hunting.process.settings import Settings
from gradlife.peaks.run.parent import Result, run_program
from gradlife.ranks.hunt import target_words
from gradlife.ranks.launch import launch, refuse_unreadable
from gradlife.ranks.meeting import hurrying, leave_result, meet
from gradlife.ranks.peak_merge import merge_peaks, peaks_in
from gradlife.ranks.run_folder import folder_for

#: Options that each rank gets unchanged.
HANDED_ON = ("steps", "step_on")

#: Shows and writes the report of a run; returns the exit status.
Finish = Callable[[Result], int]


def peak_as_rank(args: argparse.Namespace, settings: Settings, rank: Rank, finish: Finish) -> int:
    """Record in this rank, and merge if this rank has to; return the exit status of the run."""
    refuse_proof(args)
    folder = folder_for(rank, args.run_folder, os.environ)
    with hurrying() as hurry:
        own = folder.join(rank)
        result = run_program(settings, lambda report: None, folder=own)
        leave_result(own, result.status, result.was_killed, 0)
        return meet(
            folder,
            rank,
            result.status,
            args.rank_timeout,
            hurry,
            lambda: finish(merged(args.target, folder.path, rank.world_size, 0)),
        )


def peak_in_new_ranks(args: argparse.Namespace, finish: Finish) -> int:
    """Start the ranks, wait for them, and merge; return the exit status of the run."""
    refuse_proof(args)
    refuse_unreadable(args.target)
    words = [f"--{name.replace('_', '-')}={getattr(args, name)}" for name in HANDED_ON if getattr(args, name)]

    def collect(status: int, folder: str) -> Result:
        return merged(args.target, folder, args.nproc_per_node, status)

    command = ["peak", *words, *target_words(args)]
    return finish(launch(args.nproc_per_node, command, args.run_folder, args.rank_timeout, collect))


def refuse_proof(args: argparse.Namespace) -> None:
    """Raise UsageError for the option that only a program of one process has."""
    if args.prove:
        raise UsageError("--prove is for one process, and this is a run of several", "gradlife peak SCRIPT")


def merged(target: str, folder: str, world_size: int, status: int) -> Result:
    """Merge what the ranks left. ``status``: that of the launcher, for a run in which no rank joined."""
    peaks = list(peaks_in(folder))
    if not peaks:
        return Result(status, None)
    report = merge_peaks(target, peaks, world_size)
    return Result(report.script_status or status, report)
