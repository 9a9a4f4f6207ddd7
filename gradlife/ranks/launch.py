"""`--nproc-per-node N`: PyTorch's launcher starts the ranks, each under gradlife; this process merges."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from gradlife.errors import UsageError
from gradlife.hunting.process.own_folders import RUN, OwnFolder
from gradlife.hunting.steps.targets import MODULE_MARK, ScriptTarget, parse
from gradlife.model.hunt import HuntReport
from gradlife.output import reason
from gradlife.program.hunt.shared_ledger import with_shared_memory
from gradlife.program.parent import Result, passing_on
from gradlife.ranks.activity import Activity
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import folders_of_ranks, has_ended, member_at, reports_in
from gradlife.ranks.run_folder import VARIABLE

T = TypeVar("T")

#: Programs that start ranks.
LAUNCHERS = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"})

#: Makes the result of a run: the status of the launcher, and the folder that the ranks left.
Collect = Callable[[int, str], T]

#: Seconds between two checks of the run's folder: at first, and once a rank has ended.
INTERVAL, LATE_INTERVAL = 0.2, 1.0


def refuse_unfit(command: str, target: str) -> None:
    """Raise UsageError for a launcher, or a script that cannot be read: each rank would start or refuse it otherwise.

    ``command``: `hunt` or `peak`.
    """
    if target.removeprefix(MODULE_MARK) in LAUNCHERS:
        hint = f"gradlife {command} {target} ... SCRIPT"
        raise UsageError(f"{target} starts ranks itself: leave out --nproc-per-node of gradlife", hint)
    found = parse(target)
    if isinstance(found, ScriptTarget):
        from gradlife.program.script import compiled  # a hunt in one process starts sooner without it

        compiled(found.path)


def launch(count: int, words: Sequence[str], folder: str | None, patience: float, collect: Collect[T]) -> T:
    """Run a command of gradlife in ``count`` ranks; return what ``collect`` makes of the folder that they leave."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError("--nproc-per-node starts ranks with torch.distributed.run, and torch is not installed")
    if folder is not None:
        refuse_used(folder)
        return collect(run_in(folder, count, words, patience), folder)
    with OwnFolder(RUN) as private:
        return collect(run_in(private, count, words, patience), private)


def refuse_used(folder: str) -> None:
    """Raise UsageError if the folder has ranks of an earlier run."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} can't be made: {reason(error)}", "--run-folder with a new folder") from None
    if folders_of_ranks(folder):
        raise UsageError(f"{folder} has reports of an earlier run", "an empty folder for each run")


def run_in(folder: str, count: int, words: Sequence[str], patience: float) -> int:
    """Start the launcher and wait for it; return its status."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    with passing_on() as forward:
        process = subprocess.Popen(
            [*command, "-m", "gradlife", *words], env={**os.environ, VARIABLE: os.path.abspath(folder)}
        )
        forward(process)
        wait(process, folder, patience)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def wait(process: subprocess.Popen[bytes], folder: str, patience: float) -> None:
    """Wait for the launcher; end it if some ranks have ended and the others have been idle for too long.

    A rank that works is never ended, however late it is.
    """
    activity: Activity | None = None
    is_told = False
    while process.poll() is None:
        waiting = ranks_left(folder)
        if activity is None and any(map(has_ended, paths_of_ranks(folder))):
            activity = Activity()
        if activity is not None and waiting and not is_told and activity.idle_seconds(waiting) > patience:
            process.terminate()  # once: at a second signal it would end before the ranks
            is_told = True
        try:
            process.wait(INTERVAL if activity is None else LATE_INTERVAL)
        except subprocess.TimeoutExpired:
            continue


def ranks_left(folder: str) -> set[int]:
    """Return the process IDs of ranks that have not ended."""
    members = [member_at(path) for path in paths_of_ranks(folder) if not has_ended(path)]
    return {member.pid for member in members if member is not None}


def paths_of_ranks(folder: str) -> list[str]:
    """Return the folders of ranks that have joined the run."""
    return [os.path.join(folder, name) for name in folders_of_ranks(folder)]


def with_ranks(result: Result[HuntReport], folder: str, count: int = 0) -> Result[HuntReport]:
    """Add the merged report of the ranks to the result, if any rank has joined the run."""
    if not folders_of_ranks(folder):
        return result
    report = with_shared_memory(merge(reports_in(folder), count), folder)
    return Result(report.script_status or result.status, report, result.was_killed)
