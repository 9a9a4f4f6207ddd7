"""Build one heap and ask every question about it, in rounds; write a line of JSON per answer.

A separate process, because a heap cannot be unbuilt. Run by `benchmarks.heap`.
"""

from __future__ import annotations

import argparse
import gc
import json
import re

import torch

from benchmarks.heap.ask_gradlife import GRADLIFE
from benchmarks.heap.ask_limit import LIMIT
from benchmarks.heap.ask_peers import PEERS
from benchmarks.heap.children import Outcome, run_in_child
from benchmarks.heap.questions import Question, Targets
from benchmarks.heap.synthetic import build

#: Slower questions are asked only once.
SLOW_SECONDS = 4.0


def questions(*, with_slow: bool, only: str) -> list[Question]:
    """Return the questions in mixed order, so that a disturbance affects all tools in its round."""
    known = {**LIMIT, **GRADLIFE, **PEERS}
    return [each for name, each in known.items() if (with_slow or not each.is_slow) and re.search(only, name)]


def ask(question: Question, targets: Targets, seconds: float) -> Outcome:
    return run_in_child(lambda: question.ask(targets), seconds)


def say(**values: object) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    """Ask everything, round after round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--tensors", type=int, required=True)
    parser.add_argument("--fragmented", action="store_true")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    targets = build(arguments.size, arguments.tensors, is_fragmented=arguments.fragmented)
    asked = questions(with_slow=arguments.slow, only=arguments.only)
    say(tracked=len(gc.get_objects()), questions=len(asked) * arguments.rounds)
    for _ in range(arguments.rounds):
        for question in list(asked):
            outcome = ask(question, targets, arguments.seconds)
            say(question=question.name, outcome=outcome.line())
            if outcome.error or outcome.wall > SLOW_SECONDS:
                asked.remove(question)


if __name__ == "__main__":
    main()
