"""What docs/lifetimes says about releases of PyTorch and OneFlow is what these releases were recorded to do."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradlife.cli import main

PAGES = Path(__file__).resolve().parents[2] / "docs" / "lifetimes"

TORCH = ("1.1.0", "1.2.0", "1.9.1", "1.10.2", "1.13.1", "2.9.1", "2.10.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
ONEFLOW = ("oneflow 0.8.0", "oneflow 0.9.0")
LIST_OF_LEAF = ["AccumulateGrad"]
#: No reading, because the release crashed.
KILLED = "killed by SIGSEGV"


@dataclass(frozen=True)
class Sentence:
    """Words of a page, and the row of a story's history that shows them: what the releases in question were to read."""

    page: str
    words: str
    story: str
    row: tuple[str, str, str]
    reads: dict[tuple[str, ...], Any]

    def __str__(self) -> str:
        return f"{self.page}: {self.words}"


UNTIL_1_9 = TORCH[:3]
FROM_1_10 = TORCH[3:]
UNTIL_2_9 = TORCH[:6]
FROM_2_10 = TORCH[6:]
FROM_2_13 = TORCH[8:]

SENTENCES = [
    Sentence(
        "contexts",
        "Until 1.1: one object",
        "held_grad_fn_is_a_shell",
        ("only grad_fn is held", "next_functions", "value"),
        {("1.1.0",): LIST_OF_LEAF},
    ),
    Sentence(
        "contexts",
        "a ctx that is held alone is an empty shell",
        "held_grad_fn_is_a_shell",
        ("only grad_fn is held", "next_functions", "value"),
        {TORCH[1:8]: re.compile("RuntimeError: ")},
    ),
    Sentence(
        "contexts",
        "Legacy autograd function had next_functions accessed before the function was",
        "held_grad_fn_is_a_shell",
        ("only grad_fn is held", "next_functions", "value"),
        {
            ("1.2.0",): re.compile(
                "RuntimeError: Legacy autograd function had next_functions accessed before the function"
            )
        },
    ),
    Sentence(
        "contexts",
        "From 2.13 on: coupled",
        "held_grad_fn_is_a_shell",
        ("only grad_fn is held", "next_functions", "value"),
        {FROM_2_13: LIST_OF_LEAF},
    ),
    Sentence(
        "contexts",
        "If it loses its edges too early, a gradient is lost silently",
        "saved_output_severs_graph",
        ("backward done", "gradient of x", "value"),
        {("1.1.0",): None, TORCH[1:]: [2.0] * 4},
    ),
    Sentence(
        "contexts",
        "from 1.2 on: the node owns its context",
        "saved_output_severs_graph",
        ("backward done", "gradient of x", "value"),
        {TORCH[1:]: [2.0] * 4},
    ),
    Sentence(
        "contexts",
        "Since 1.2 the path from the output has been the same",
        "ctx_keeps_input",
        ("output dropped", "x", "liveness"),
        {TORCH[1:]: "del"},
    ),
    Sentence(
        "contexts",
        "Backward releases what `save_for_backward` saved, but not attributes",
        "ctx_attribute_outlives_backward",
        ("backward done, output alive", "mask's memory", "expiry"),
        {TORCH: "alive", ("oneflow 0.9.0",): "dead"},
    ),
    Sentence(
        "cycles",
        "Up to 1.9 PyTorch does not report it to the collector, and the cycle is never freed",
        "ctx_keeps_output",
        ("output dropped", "ctx", "liveness"),
        {UNTIL_1_9: "never", ("oneflow 0.9.0",): "never"},
    ),
    Sentence(
        "cycles",
        "From 1.10 on, a tensor that is the only owner of its node reports it",
        "ctx_keeps_output",
        ("output dropped", "ctx", "liveness"),
        {FROM_1_10: "gc"},
    ),
    Sentence(
        "cycles",
        "in no release of PyTorch",
        "ctx_keeps_later_result",
        ("names dropped", "ctx", "liveness"),
        {TORCH: "never"},
    ),
    Sentence(
        "cycles",
        "in every recorded release, and in OneFlow",
        "create_graph_backward_cycle",
        ("names dropped", "leaf's memory", "liveness"),
        {TORCH: "never", ONEFLOW: "never"},
    ),
    Sentence(
        "hooks",
        "A leaf reports its hooks to the collector",
        "leaf_hook_over_leaf",
        ("name dropped", "hook", "liveness"),
        {TORCH: "gc"},
    ),
    Sentence(
        "hooks",
        "So it is in every recorded release of PyTorch, from 1.1 to 2.15",
        "activation_hook_over_activation",
        ("name dropped", "hook", "liveness"),
        {TORCH: "never"},
    ),
    Sentence(
        "hooks",
        "OneFlow 0.8 and 0.9 free neither",
        "leaf_hook_over_leaf",
        ("name dropped", "hook", "liveness"),
        {ONEFLOW: "never"},
    ),
    Sentence(
        "identity",
        "A new wrapper for each read: up to PyTorch 1.9, and OneFlow issue 9500",
        "grad_id_without_a_name",
        ("read", "one id over 8 reads", "value"),
        {UNTIL_1_9: False, FROM_1_10: True, ("oneflow 0.8.0",): False, ("oneflow 0.9.0",): True},
    ),
    Sentence(
        "identity",
        "The next read makes a new one, and the note is lost without an error",
        "attribute_on_grad",
        ("read back", "read back", "value"),
        {UNTIL_1_9: re.compile("AttributeError: 'Tensor' object has no attribute"), FROM_1_10: 41},
    ),
    Sentence(
        "identity",
        "Resurrection: 1.10 to 2.9",
        "five_states_of_a_wrapper",
        ("4 returned again", "id came back", "value"),
        {UNTIL_1_9: False, FROM_1_10[:3]: True},
    ),
    Sentence(
        "identity",
        "Coupled counts: 2.10 and later",
        "five_states_of_a_wrapper",
        ("1 first return", "grad, named", "refcount"),
        {UNTIL_2_9: 0, FROM_2_10: 1},
    ),
    Sentence(
        "identity",
        "PyTorch 1 then cleared the wrapper's attributes",
        "collector_and_a_cycle_that_owns",
        ("collected", "tag after gc", "value"),
        {("1.13.1",): re.compile("AttributeError: 'Tensor' object has no attribute 'tag'")},
    ),
    Sentence(
        "identity",
        "The recorded 1.10.2 crashes there",
        "collector_and_a_cycle_that_owns",
        ("collected", "tag after gc", "value"),
        {("1.10.2",): KILLED},
    ),
    Sentence(
        "identity",
        "From 2.0 to 2.9 weak references are dead as well",
        "collector_and_a_cycle_that_owns",
        ("collected", "weak reference alive", "value"),
        {("1.13.1", "2.9.1"): False, FROM_2_10: True},
    ),
    Sentence(
        "identity",
        "but the attributes stay",
        "collector_and_a_cycle_that_owns",
        ("collected", "tag after gc", "value"),
        {("2.9.1", *FROM_2_10): "kept"},
    ),
    Sentence(
        "identity",
        "Since 2.10 the two reference counts are coupled",
        "counts_of_a_wrapper",
        ("counted", "named once, owned by x", "refcount"),
        {UNTIL_2_9: 0, FROM_2_10: 1},
    ),
    Sentence(
        "identity",
        "A wrapper that C++ keeps also keeps its attributes",
        "grad_names_its_owner",
        ("names gone", "x", "liveness"),
        {UNTIL_1_9: "del", FROM_1_10: "never"},
    ),
    Sentence(
        "packing",
        "Each slot owns one reference to each function, until the slot is released",
        "slot_owns_both_hooks",
        ("counted", "two slots saved", "value"),
        {FROM_1_10: [4, 4, 2]},
    ),
    Sentence(
        "tensors",
        "it holds its base",
        "view_keeps_its_base",
        ("both named", "view._base is base", "value"),
        {TORCH: True},
    ),
]


@functools.cache
def history(story: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["history", story, "--stage-detail", "--json", "-"]) == 0
    read: dict[str, Any] = json.loads(out.getvalue())
    return read


def recorded(story: str, row: tuple[str, str, str]) -> dict[str, Any]:
    """What each release has in that row, by release: a value, or why there is none."""
    found = [each for each in history(story)["rows"] if (each["stage"], each["subject"], each["probe"]) == row]
    assert len(found) == 1, f"{story} has no row {row}"
    return {
        moment["system"].removeprefix("recorded:").removeprefix("torch-").replace("-", " "): moment["why"]
        or moment["value"]
        for moment in found[0]["moments"]
    }


def is_read(value: Any, expected: Any) -> bool:
    return bool(expected.match(value)) if isinstance(expected, re.Pattern) else bool(value == expected)


@pytest.mark.parametrize("sentence", SENTENCES, ids=str)
def test_a_sentence_about_releases_is_what_they_were_recorded_to_do(sentence: Sentence) -> None:
    assert sentence.words in words_of(sentence.page)
    values = recorded(sentence.story, sentence.row)
    for releases, expected in sentence.reads.items():
        assert {release: values[release] for release in releases if not is_read(values[release], expected)} == {}


def words_of(page: str) -> str:
    return " ".join((PAGES / f"{page}.md").read_text(encoding="utf-8").split())


def sentences_with_releases(page: str) -> Iterator[str]:
    """The sentences of a page's prose and headings that name a release."""
    prose = re.sub(
        r"```.*?```|!\[[^]]*\]\([^)]*\)", "", (PAGES / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    for paragraph in re.split(r"\n\n+", prose):
        for sentence in re.split(r"(?<=[.])\s", " ".join(paragraph.split())):
            if re.search(r"\b[12]\.\d+\b|OneFlow", sentence):
                yield sentence


#: Sentences that name a release and say nothing of what it does.
NO_STATEMENT = (
    "which copies PyTorch's ownership, in any release since 1.1",
    "Without `torch.profile` the engine imitates 2.13",
    "For 2.0 to 2.9 it does not know the order",
    "OneFlow issue 9500 reports the same",
)


@pytest.mark.parametrize("page", sorted(page.stem for page in PAGES.glob("*.md")))
def test_each_sentence_that_names_a_release_is_compared_with_a_recording(page: str) -> None:
    compared = [sentence.words for sentence in SENTENCES if sentence.page == page]
    left = [
        sentence
        for sentence in sentences_with_releases(page)
        if not any(words in sentence or sentence in words for words in [*compared, *NO_STATEMENT])
    ]
    assert left == []
