"""Statements that read all of what an evaluation has gathered."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.whole_reads import is_only_filled, older_read_of, whole_read_of
from gradlife.model.trace import Hop, PathStep
from stored_traces import LIST, owned, source, trace, variable

GLOBAL = trace(variable("outputs"), LIST)
LOOP = "outputs = []\nfor x in data:\n    outputs.append(model(x))\n"


def read_in(text: str) -> str:
    return whole_read_of(GLOBAL, 1, [source(text)])


@pytest.mark.parametrize(
    "statement",
    [
        "result = torch.cat(outputs)",
        "print(torch.stack(outputs, 0).mean())",
        "accuracy = accuracy_score(outputs, labels)",
        "torch.save({'outputs': outputs}, path)",
        "mean = sum(one.sum() for one in outputs)",
        "report(*outputs)",
        "for one in outputs: print(one)",
        "for number, one in enumerate(outputs): print(one)",
    ],
)
def test_results_that_are_read_after_the_loop_are_gathered(statement: str) -> None:
    assert read_in(f"{LOOP}{statement}\n") == "train.py:4"


@pytest.mark.parametrize(
    "statement",
    [
        "print(len(outputs))",
        "last = outputs[-1]",
        "thread = Thread(target=serve, args=(outputs,))",
        "serve = partial(handle, outputs)",
        "while True:\n    mean = torch.stack(outputs).mean()",
        "def never_called():\n    return torch.cat(outputs)",
    ],
)
def test_results_that_nothing_reads_once_are_not(statement: str) -> None:
    assert read_in(f"{LOOP}{statement}\n") == ""


def test_what_comes_before_the_loop_reads_no_results() -> None:
    assert read_in("outputs = []\nprepare(outputs)\nfor x in data:\n    outputs.append(model(x))\n") == ""


def test_the_handler_of_a_request_reads_them_again_and_again() -> None:
    handler = "class Handler:\n    def do_GET(self):\n        outputs.append(model(x))\n        answer(outputs)\n"
    assert read_in(f"outputs = []\n{handler}") == ""
    inner = (
        "def note(x):\n    outputs.append(x)\n    return sum(outputs)\nclass Handler:\n    def do_GET(self): note(1)\n"
    )
    assert read_in(f"outputs = []\n{inner}") == ""


def test_a_function_of_the_program_reads_them_only_if_its_code_does() -> None:
    def calling(body: str) -> str:
        return read_in(f"def finish(rows):\n    {body}\n{LOOP}finish(outputs)\n")

    assert (calling("return torch.cat(rows)"), calling("rows.append(0)")) == ("train.py:6", "")


def test_a_method_reads_what_its_object_has_gathered_if_it_is_called_once() -> None:
    held = trace(variable("evaluation"), owned("losses"), LIST)
    text = "class Trainer:\n    def add(self, x):\n        self.losses.append(x)\n"
    text += "    def mean(self):\n        return sum(self.losses)\n"

    def read(call: str) -> str:
        return whole_read_of(held, 2, [source(f"{text}{call}")])

    assert read("print(evaluation.mean())\n") == "train.py:5"
    assert read("while True:\n    print(evaluation.mean())\n") == read("") == ""


def read_by(method: str, more: str = "") -> str:
    """Return where a method that no code of the program calls is said to read the results."""
    text = f"class Callback:\n    def {method}(self, *args):\n        report(outputs)\n{more}"
    return read_in(f"{LOOP}{text}")


@pytest.mark.parametrize(
    "hook",
    [
        *(
            "on_validation_epoch_end",
            "validation_epoch_end",
            "on_epoch_end",
            "on_train_end",
            "on_fit_end",
            "on_test_end",
        ),
        *("on_evaluate", "epoch_completed", "on_predict_end", "_on_training_end", "teardown", "tearDownClass"),
    ],
)
def test_a_hook_at_the_end_of_a_phase_reads_them_once(hook: str) -> None:
    assert read_by(hook) == "train.py:6"


@pytest.mark.parametrize(
    "hook",
    [
        *("on_train_batch_end", "on_test_batch_end", "validation_step_end", "on_step_end", "iteration_completed"),
        *("on_message", "on_request", "on_request_end", "on_predict", "on_event", "backend", "tearDown", "precompute"),
    ],
)
def test_a_hook_of_each_batch_or_request_reads_them_again_and_again(hook: str) -> None:
    assert read_by(hook) == ""


def test_compute_reads_them_once_only_in_a_metric() -> None:
    update = "    def update(self, batch):\n        pass\n"
    assert (read_by("compute", update), read_by("compute"), read_by("update")) == ("train.py:6", "", "")


def test_a_function_that_returns_its_results_has_gathered_them() -> None:
    hop = Hop("running frame", "local", "outputs")
    frame = PathStep("running frame", "evaluate (train.py:9)", "root", "", "local", hops=(hop,))
    loop = "    outputs = []\n    for x in data:\n        outputs.append(model(x))\n"
    for end, place in (("    return outputs, labels\n", "train.py:5"), ("    print('done')\n", "")):
        text = f"def evaluate(data):\n{loop}{end}evaluate(data)\n"
        assert whole_read_of(trace(frame, LIST), 1, [source(text)]) == place


@pytest.mark.parametrize(
    ("statement", "is_never"),
    [
        ("outputs += [model(x)]", True),
        ("print(len(outputs))", True),
        ("outputs = []", True),
        ("last = outputs[-1]", False),
        ("outputs.append(outputs[-1])", False),
        ("serve(outputs)", False),
        ("import other", True),
    ],
)
def test_a_container_that_is_only_filled_is_never_read(statement: str, is_never: bool) -> None:
    assert is_only_filled(GLOBAL, 1, [source(f"{LOOP}{statement}\n")]) is is_never


def test_a_container_that_no_statement_fills_may_be_read_elsewhere() -> None:
    assert not is_only_filled(GLOBAL, 1, [source("outputs = trainer.predict(model)\n")])


@pytest.mark.parametrize(
    ("statement", "is_read"),
    [
        ("print(sum(outputs))", True),
        ("outputs.pop()", True),
        ("first = outputs[0]", True),
        ("for one in outputs:\n    use(one)", True),
        ("use(outputs[:-1])", True),
        ("last = outputs[-1]", False),
        ("mean = sum(outputs[-10:])", False),
        ("if not outputs:\n    pass", False),
        ("if outputs:\n    pass", False),
        ("count = len(outputs)", False),
        ("outputs.clear()", False),
    ],
)
def test_older_items_that_are_read_are_seen(statement: str, is_read: bool) -> None:
    """The advice to drop them, `del kept[:-100]`, took from programs what they read later."""
    text = f"outputs = []\nfor step in range(9):\n    outputs.append(step)\n{statement}\n"
    found = older_read_of(GLOBAL, 1, [source(text)])
    assert bool(found) == is_read
    assert not found or found.endswith(":4")
