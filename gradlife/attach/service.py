"""The thread in the process that gradlife attached to. It answers the client's requests, and ends when the client goes.

Nothing here prints, and no error reaches the program. Snapshots are taken in a forked copy, so that the program waits
only for the fork.
"""

from __future__ import annotations

import os
import pickle
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gradlife._version import __version__
from gradlife.attach.protocol import VERSION, AttachError, Channel, Gone
from gradlife.errors import GradlifeError, UsageError
from gradlife.heap import snapshot as take_snapshot
from gradlife.hunting.process.forked import CAN_FORK, end, read_answer, start_copy
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport
from gradlife.model.peak import codec as peak_codec
from gradlife.model.reading import Json
from gradlife.model.watching.look import Look
from gradlife.output import reason
from gradlife.program.hunt.following import Follow
from gradlife.program.hunt.running import Progress, RunningHunt, Terms


def answer_all(channel: Channel) -> None:
    """Answer requests until the other side has gone."""
    channel.send(version=VERSION, gradlife=__version__, python=platform.python_version(), pid=os.getpid())
    while (request := channel.receive()) is not None:
        try:
            channel.send(**answer(request, channel))
        except Gone:
            return
        except GradlifeError as error:
            channel.send(error=error.message, hint=error.hint, is_usage=isinstance(error, UsageError))
        except Exception as error:
            channel.send(error=f"{request.get('do')} failed: {type(error).__name__}: {error}", hint="")


def answer(request: dict[str, Json], channel: Channel) -> dict[str, Any]:
    """Do what one request asks; return the last line of the answer."""
    if request.get("do") == "hunt":
        return answer_hunt(request, channel)
    if request.get("do") == "follow":
        return answer_follow(request, channel)
    if request.get("do") == "peak":
        return answer_peak(request, channel)
    if request.get("do") == "snapshot":
        return answer_snapshot(Path(request["path"]), **request["options"])
    raise UsageError(f"this gradlife has no request {request.get('do')!r}", f"version {__version__} on both sides")


def answer_hunt(request: dict[str, Json], channel: Channel) -> dict[str, Any]:
    """Hunt, and send a line of progress each second; the hunt ends when the other side goes."""

    def tell(progress: Progress) -> None:
        channel.send(progress=asdict(progress))

    hunt = RunningHunt(request["target"], request["command"], Terms(**request["terms"]))
    return {"report": hunt_codec.dumps(hunt.run(tell))}


def answer_follow(request: dict[str, Json], channel: Channel) -> dict[str, Any]:
    """Watch until the other side goes; send a line for each report and each measurement."""

    def tell(progress: Progress) -> None:
        channel.send(progress=asdict(progress))

    def report(found: HuntReport) -> None:
        channel.send(interim=hunt_codec.dumps(found))

    def look(found: Look) -> None:
        channel.send(look=asdict(found))

    every = request["every"]
    hunt = RunningHunt(request["target"], request["command"], Terms(**request["terms"]), every)
    on_look = look if request["measures"] else None
    return {"report": hunt_codec.dumps(Follow(hunt, every, report, on_look).run(tell))}


def answer_peak(request: dict[str, Json], channel: Channel) -> dict[str, Any]:
    """Record a few steps, and send a line of progress each second."""

    def tell(progress: Progress) -> None:
        channel.send(progress=asdict(progress))

    from gradlife.program.peak.running import RunningPeak  # imported late: few clients want the peak

    return {"report": peak_codec.dumps(RunningPeak(request["target"], Terms(**request["terms"])).run(tell))}


def answer_snapshot(path: Path, *, labels: bool, user_text: bool, native: bool) -> dict[str, Any]:
    """Write a snapshot of this process; return its objects and the seconds for which the program was stopped."""

    def work() -> int:
        snapshot = take_snapshot(labels=labels, user_text=user_text, native=native)
        snapshot.save(path, labels=labels)
        return snapshot.objects

    if not CAN_FORK:
        start = time.perf_counter()
        return {"objects": work(), "pause_seconds": time.perf_counter() - start}
    objects, pause = in_copy(work)
    return {"objects": objects, "pause_seconds": pause}


def in_copy(work: Callable[[], int]) -> tuple[int, float]:
    """Do the work in a forked copy, never in the process itself; return its result and the seconds of the fork."""

    def work_or_reason() -> int | str:
        try:
            return work()
        except MemoryError:
            raise
        except GradlifeError as error:
            return error.message
        except OSError as error:
            return reason(error)
        except Exception as error:
            return str(error) or type(error).__name__

    start = time.perf_counter()
    copy, pipe = start_copy(work_or_reason)
    pause = time.perf_counter() - start
    try:
        result = read_answer(pipe)
    finally:
        os.close(pipe)
        end(copy)
    if not result:
        raise AttachError(
            "the forked copy could not write the snapshot: it ran out of memory, or was killed", "free memory"
        )
    found = pickle.loads(result)
    if isinstance(found, str):
        raise AttachError(
            f"the forked copy could not write the snapshot: {found}", "a folder that the process may write to"
        )
    return found, pause
