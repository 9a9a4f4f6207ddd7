"""Total reference counts over repeated scenarios, on a debug CPython. Run with `make debug-python`.

Reviewers of PyTorch's PR 22983 asked for this: repeated runs leave `sys.gettotalrefcount()` unchanged. Each profile's
own leaks, which the engine's live counts show, are named and left out. Exit status 0 if every count stays.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable

import gradlife.engine as torch
from benchmarks.hardening.checks import leaks
from benchmarks.hardening.stories import PROFILES, TOLD, Story

WARM_UP = 5
ROUNDS = 5

#: Micrograd's closures need two collections, the second for the classes they closed over.
MAX_COLLECTIONS = 5

#: References per run: a leak adds at least one; something added once per round is less.
LEAST = 0.5


def main() -> int:
    arguments = parse_arguments()
    if not hasattr(sys, "gettotalrefcount"):
        print(f"{sys.executable} is no debug build of CPython: python3.11-dbg is Debian's")
        return 2
    started = time.perf_counter()
    gc.disable()
    wrong = 0
    for profile in PROFILES:
        torch.set_default_profile(profile)
        running = [story for story in TOLD if runs(story)]
        leaking = [story.__name__ for story in running if leaks(story)]
        growth = {one.__name__: grown(one, arguments.times) for one in running if one.__name__ not in leaking}
        text = ", ".join(f"{name} {by:+.2f}" for name, by in growth.items() if by)
        left = f"; the engine's own counts tell of {', '.join(leaking)}" if leaking else ""
        print(f"{profile}: {len(growth)} stories, {text or 'all flat'}{left}", flush=True)
        wrong += sum(by != 0 for by in growth.values())
    print(f"{wrong} not flat; {ROUNDS} rounds of {arguments.times} each, in {time.perf_counter() - started:.0f} s")
    return 1 if wrong else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make debug-python", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=100, help="repeats in a round")
    return parser.parse_args()


def runs(story: Story) -> bool:
    """Whether the release has what the story calls."""
    try:
        story()
    except (AttributeError, RuntimeError, TypeError):
        return False
    return True


def once(story: Story) -> None:
    action: Callable[[], object] | None = story()
    try:
        if action is not None:
            action()
    except Exception:  # some stories fail on purpose
        pass


def grown(story: Story, times: int) -> float:
    """Return references added per run, in the round that adds least: something kept once is no leak."""
    for _ in range(WARM_UP):
        once(story)
    counting = min(a_round(nothing, times) for _ in range(ROUNDS))  # added by the count itself: two numbers
    by = min((a_round(story, times) - counting for _ in range(ROUNDS)), key=abs)
    return by if abs(by) > LEAST else 0.0


def nothing() -> Callable[[], object]:
    """Do nothing."""
    return int


def a_round(story: Story, times: int) -> float:
    settle()
    before = sys.gettotalrefcount()
    for _ in range(times):
        once(story)
    settle()
    return (sys.gettotalrefcount() - before) / times


def settle() -> None:
    """Free cycles, and those exposed by that; clear the event log, whose rows are numbers."""
    for _ in range(MAX_COLLECTIONS):
        if gc.collect() == 0:
            break
    torch.clear_events()


if __name__ == "__main__":
    sys.exit(main())
