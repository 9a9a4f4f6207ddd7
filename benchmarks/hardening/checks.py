"""All checks by name: the entry points of the extension, and stories that call several of them."""

from __future__ import annotations

from functools import cache

import gradlife.engine as torch
from benchmarks.hardening.cases import Case, cases_of
from benchmarks.hardening.entries import Entry, entries
from benchmarks.hardening.given import Prepare
from benchmarks.hardening.injector import Injector
from benchmarks.hardening.judging import Verdict, judge, settle, unharmed
from benchmarks.hardening.stories import STORIES, under


@cache
def all_entries() -> dict[str, Entry]:
    return {entry.name: entry for entry in entries()}


def names() -> list[str]:
    """Every entry point, then every story under every profile."""
    return [*all_entries(), *STORIES]


def check(name: str, injector: Injector) -> Verdict:
    """Check every case of an entry point, or one story, under every fault."""
    verdict = Verdict()
    for case in story_cases(name) if name in STORIES else cases_of(all_entries()[name]):
        judge(case, injector, verdict)
    return verdict


def story_cases(name: str) -> list[Case]:
    """Return the story's cases; None if its profile lacks a feature, or leaks itself, as its release did."""
    story = under(name)
    return [] if story is None or leaks(story) else [Case(name, story)]


def leaks(story: Prepare) -> bool:
    """Whether it keeps something when all goes well, or when it ends before its call."""
    counts = []
    for _ in range(3):
        unharmed(Case("", story))
        story()
        settle()
        counts.append(torch.live_counts())
    return counts[1] != counts[2]
