"""A metric that the program computes again and again, and a `reset()` of something else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.hunting.stores.metric_resets import is_computed_but_never_reset
from gradlife.hunting.stores.program_sources import Source
from gradlife.model.trace import Hop, PathStep

PROGRAM = """
class Auc:
    def compute(self):
        return sum(self.scores)

    def reset(self):
        self.scores = []

auc = Auc()
{made}
for epoch in range(6):
    auc.scores.append(1.0)
    {each}
    print(auc.compute())
"""


def is_never_reset(made: str, each: str) -> bool:
    hops = (Hop("module", "internal", "__dict__", -1), Hop("dict", "dict_value", "'auc'", -1))
    module = PathStep("module", "__main__", "python", "", "internal", type="module", hops=hops)
    metric = PathStep("Auc", "", "python", "", "attribute", type="__main__.Auc")
    trace: Any = SimpleNamespace(steps=(module, metric))
    return is_computed_but_never_reset(trace, 1, [Source("__main__", "train.py", PROGRAM.format(made=made, each=each))])


@pytest.mark.parametrize(
    ("made", "each"),
    [
        ("", ""),
        ("env = Env()", "env.reset()"),
        ("env = gym.make('Pong')", "env.reset()"),
        ("self.timer = Timer()", "self.timer.reset()"),
        ("", "super().reset()"),
    ],
    ids=["none", "environment", "made", "attribute", "super"],
)
def test_a_reset_of_what_another_class_made_is_none_of_the_metric(made: str, each: str) -> None:
    """Any `.reset(` in the program excused the metric."""
    assert is_never_reset(made, each)


@pytest.mark.parametrize(
    ("made", "each"),
    [
        ("", "auc.reset()"),
        ("", "[one.reset() for one in metrics]"),
        ("last = auc", "last.reset()"),
        ("found = lookup('auc')", "found.reset()"),
        ("other = Auc()", "other.reset()"),
        ("def begin(metric): metric.reset()", "begin(auc)"),
    ],
    ids=["by name", "loop", "another name", "function", "class", "parameter"],
)
def test_a_reset_that_may_be_the_metrics_excuses_it(made: str, each: str) -> None:
    assert not is_never_reset(made, each)
