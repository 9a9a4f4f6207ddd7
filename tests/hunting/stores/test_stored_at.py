"""The line that stores, from a trace and the sources of a program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.trace import TensorFacts, Trace
from stored_traces import CREATED, KEPT, LIST, TRAINER, owned, ring, source, step, trace, variable


def found(
    kept: Trace, text: str, created_at: tuple[str, ...] = (), executed: tuple[tuple[str, int], ...] = ()
) -> tuple[int, str, str, str] | None:
    place = stored_at(kept, Evidence(created_at, frozenset(executed)), [source(text)])
    return (place.line, place.source, place.function, place.confidence.value) if place else None


def test_the_append_to_the_attribute_stores() -> None:
    wanted = (8, "self.losses.append(loss)  # kept", "Trainer.step", "sure")
    assert found(KEPT, TRAINER, CREATED) == wanted


def test_the_assignment_that_runs_each_step_stores_not_the_first_one() -> None:
    kept = trace(variable("trainer"), owned("total"))
    assert found(kept, TRAINER, CREATED) == (9, "self.total = self.total + loss", "Trainer.step", "sure")


@pytest.mark.parametrize(
    "line", ["kept.append(x)", "kept += [x]", "kept[1] = x", "kept.extend([x])", "kept.setdefault(1, x)"]
)
def test_each_path_to_fill_a_global_container_stores(line: str) -> None:
    assert found(trace(variable("kept"), LIST), f"kept = make()\nfor x in y:\n    {line}\n") == (3, line, "", "sure")


@pytest.mark.parametrize(
    "loop",
    [
        "for name, one in kept.items()",
        "for one in kept.values()",
        "for one in kept",
        "for number, one in enumerate(kept.values())",
        "for one, x in zip(kept, xs)",
    ],
)
def test_the_variable_of_a_loop_over_the_container_stores_in_it(loop: str) -> None:
    text = f"kept = make()\nfor x in y:\n    {loop}:\n        one.append(x)\n"
    assert found(trace(variable("kept"), LIST), text) == (4, "one.append(x)", "", "sure")


@pytest.mark.parametrize("loop", ["for one in others", "for one in make(kept)", "for one in range(len(kept))"])
def test_the_variable_of_another_loop_does_not(loop: str) -> None:
    text = f"kept = make()\nfor x in y:\n    {loop}:\n        one.append(x)\n"
    assert found(trace(variable("kept"), LIST), text) is None


def test_a_local_variable_that_stands_for_the_attribute_stores() -> None:
    text = "def step(trainer, x):\n    kept = trainer.losses\n    kept.append(x)\n"
    assert found(KEPT, text) == (3, "kept.append(x)", "step", "sure")


def test_the_global_is_not_a_local_variable_of_the_same_name() -> None:
    text = "kept = []\ndef f(kept):\n    kept.append(1)\ndef g():\n    kept = []\n    kept.append(1)\n"
    assert found(trace(variable("kept"), LIST), text) is None


def test_two_statements_that_fit_are_unsure_and_the_creation_stack_decides() -> None:
    text = "def f(t, x):\n    t.losses.append(x)\ndef g(t, x):\n    t.losses.append(x)\n"
    assert found(KEPT, text) == (2, "t.losses.append(x)", "f", "unsure")
    assert found(KEPT, text, ("train.py:3 in g",)) == (4, "t.losses.append(x)", "g", "sure")


def test_another_class_of_the_same_attribute_does_not_store() -> None:
    assert found(KEPT, TRAINER.replace("class Trainer", "class Logger")) is None


def test_what_no_source_stores_has_no_line() -> None:
    assert found(KEPT, "print('nothing')\n") is None
    assert stored_at(trace(), Evidence(), [source(TRAINER)]) is None


@pytest.mark.parametrize(
    "text",
    [
        "kept = []\nadd = kept.append\nfor x in y:\n    add(x)\n",
        "kept = []\ndef step(x, add=kept.append):\n    if x:\n        add(x)\n",
        "kept = []\nself.add = kept.append\nfor x in y:\n    self.add(x)\n",
    ],
)
def test_a_name_for_the_method_of_a_container_stores(text: str) -> None:
    place = found(trace(variable("kept"), LIST), text)
    assert place is not None
    assert place[1] in {"add(x)", "self.add(x)"}


def test_an_attribute_with_a_computed_name_is_stored_by_its_f_string() -> None:
    text = "def step(state, n, x):\n    setattr(state, f'other_{n}', x)\n    setattr(state, f'batch_{n}', x)\n"
    place = found(trace(variable("state"), owned("batch_7")), text)
    assert place == (3, "setattr(state, f'batch_{n}', x)", "step", "sure")


def test_none_and_a_detached_tensor_store_no_graph() -> None:
    text = "def step(run, x):\n    if run.out:\n        run.out = run.out.detach()\n    run.out = x * 2\n"
    kept = replace(trace(variable("run"), owned("out")), tensor=TensorFacts("MulBackward0"))
    assert found(kept, text) == (4, "run.out = x * 2", "step", "sure")


def test_a_global_variable_of_a_computed_name_is_stored_through_globals() -> None:
    text = 'for i in batches:\n    x = make(i)\n    globals()[f"loss_{i}"] = x\n'
    assert found(trace(variable("loss_41")), text) == (3, 'globals()[f"loss_{i}"] = x', "", "sure")
    assert found(trace(variable("rate_41")), text) is None


def test_a_callback_of_an_exit_stack_is_stored_by_the_call_that_registers_it() -> None:
    stack = owned("_exit_callbacks", "contextlib.ExitStack")
    kept = trace(variable("stack"), stack, LIST)
    assert found(kept, "for x in y:\n    stack.callback(restore, x)\n") == (2, "stack.callback(restore, x)", "", "sure")


@pytest.mark.parametrize(
    "line", ["log.write(text)", "log.writelines(lines)", "print(loss, file=log)", "torch.save(state, log)"]
)
def test_a_file_in_memory_is_stored_in_by_what_writes_to_it(line: str) -> None:
    text = f"import io\nlog = io.StringIO()\nsize = len(log.getvalue())\nfor x in y:\n    {line}\n"
    kept = replace(trace(), steps=(variable("log"), step("_io.StringIO")))
    assert found(kept, text) == (5, line, "", "sure")


def test_an_exit_stack_is_stored_in_by_what_enters_a_context() -> None:
    text = "stack = contextlib.ExitStack()\nfor x in y:\n    stack.enter_context(open(x))\n"
    steps = (variable("stack"), step("contextlib.ExitStack", "attribute", "_exit_callbacks"))
    queue = step("collections.deque", "item", length=41)
    assert found(trace(*steps, queue, step("tuple", "item", length=2)), text) == (
        3,
        "stack.enter_context(open(x))",
        "",
        "sure",
    )


def test_a_cycle_is_closed_by_what_sets_an_object_not_by_the_empty_list_of_its_children() -> None:
    text = "class Node:\n    def __init__(self, parent):\n        self.children = []\n        self.parent = parent\n"
    node = "__main__.Node"
    cycle = ring(owned("children", node), step("list", "item", length=3), owned("parent", node))
    assert found(cycle, text) == (4, "self.parent = parent", "Node.__init__", "sure")


def test_a_handler_of_a_logger_is_stored_by_what_adds_it() -> None:
    """It was the line that gets the logger."""
    text = "def named(run):\n    logger.addHandler(Handler(run))\nfor run in runs:\n    logger = named(run)\n"
    kept = trace(variable("logger"), owned("handlers", "logging.Logger"), LIST)
    assert found(kept, text) == (2, "logger.addHandler(Handler(run))", "named", "sure")


TAKEN = """
class Trainer:
    def __init__(self):
        self.losses = []

    def take(self):
        taken, self.losses = self.losses, []
        return taken

    def step(self, losses):
        self.losses.extend(losses)

Trainer().step([1.0])
"""


def test_a_statement_of_a_function_that_nothing_calls_does_not_store() -> None:
    """A swap in a method that no code of the program called was the line."""
    grown = replace(trace(variable("trainer"), owned("losses")), object="list", detail="len 9", tensor=None)
    place = stored_at(grown, Evidence(), [source(TAKEN)], Growth(GrowthKind.CONTAINER, 2))
    assert place is not None
    assert place.source.strip() == "self.losses.extend(losses)"
