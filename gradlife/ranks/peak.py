"""`gradlife peak` in several processes: as one rank of a run, or as the launcher of all ranks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace

from gradlife.errors import UsageError
from gradlife.hunting.process.rank import Rank, write_result
from gradlife.hunting.process.settings import Settings
from gradlife.model.peak.report import PeakReport
from gradlife.program.parent import Result
from gradlife.program.peak.parent import PeakGuard
from gradlife.ranks.hunt import target_words
from gradlife.ranks.launch import launch, refuse_unfit
from gradlife.ranks.meeting import hurrying, meet
from gradlife.ranks.peak_merge import merge_peaks, peaks_in
from gradlife.ranks.run_folder import folder_for

#: Options that each rank gets unchanged.
HANDED_ON = ("steps", "step_on")

#: Shows and writes the report of a run; returns the exit status.
Finish = Callable[[Result[PeakReport]], int]


def peak_as_rank(args: argparse.Namespace, settings: Settings, rank: Rank, finish: Finish) -> int:
    """Record in this rank, and merge if this rank has to; return the exit status of the run."""
    refuse_proof(args)
    folder = folder_for(rank, args.run_folder, os.environ)
    with hurrying() as hurry:
        own = folder.join(rank)
        result = PeakGuard(replace(settings, in_step=True), lambda report: None, folder=own).run()
        write_result(own, result.status, result.status - 128 if result.was_killed else 0)
        return meet(
            folder,
            rank,
            result.status,
            args.rank_timeout,
            hurry,
            lambda: finish(with_peaks(Result(0, None), args.target, folder.path, rank.world_size)),
        )


def peak_in_new_ranks(args: argparse.Namespace, finish: Finish) -> int:
    """Start the ranks, wait for them, and merge; return the exit status of the run."""
    refuse_proof(args)
    refuse_unfit("peak", args.target)
    words = [f"--{name.replace('_', '-')}={getattr(args, name)}" for name in HANDED_ON if getattr(args, name)]

    def collect(status: int, folder: str) -> Result[PeakReport]:
        return with_peaks(Result(status, None), args.target, folder, args.nproc_per_node)

    command = ["peak", *words, *target_words(args)]
    return finish(launch(args.nproc_per_node, command, args.run_folder, args.rank_timeout, collect))


def refuse_proof(args: argparse.Namespace) -> None:
    """Raise UsageError for the option that only a program of one process has."""
    if args.prove:
        raise UsageError("--prove is for one process, and this is a run of several", "gradlife peak SCRIPT")


def with_peaks(result: Result[PeakReport], target: str, folder: str, world_size: int = 0) -> Result[PeakReport]:
    """Put the merged report of the ranks in the place of the launcher's, if any rank has joined the run."""
    peaks = list(peaks_in(folder))
    if not peaks:
        return result
    report = merge_peaks(target, peaks, world_size)
    return Result(report.script_status or result.status, report)
