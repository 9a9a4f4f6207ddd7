"""Functions of a program that take items out of what grows, and that nothing calls."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.removers import unused_remover_of
from gradlife.hunting.stores.stored_at import Evidence
from stored_traces import LIST, attributes, source, trace, variable

KEPT = trace(variable("client"), attributes("__main__.Client", "__dict__", "sessions"), LIST)
CLIENT = """\
class Client:
    def __init__(self):
        self.sessions = []
    def open(self, session):
        self.sessions.append(session)
"""
CLOSE = f"{CLIENT}    def close(self, session):\n        self.sessions.remove(session)\n"


def remover_in(text: str, *executed: int, bases: tuple[str, ...] = ()) -> str:
    steps = (variable("client"), attributes("__main__.Client", "__dict__", "sessions", bases=bases), LIST)
    ran = frozenset(("train.py", line) for line in executed)
    return unused_remover_of(trace(*steps), 2, Evidence(executed=ran), [source(text)])


@pytest.mark.parametrize(
    "statement",
    ["self.sessions.remove(session)", "self.sessions.clear()", "del self.sessions[0]", "self.sessions = []"],
)
def test_a_method_that_nothing_calls_would_take_items_out(statement: str) -> None:
    text = f"{CLIENT}    def close(self, session):\n        {statement}\n"
    assert remover_in(text) == "Client.close (train.py:6)"


def test_the_function_that_leads_to_it_and_that_nothing_calls_is_the_one_to_call() -> None:
    text = f"{CLOSE}def finish(client, session):\n    client.close(session)\n"
    assert remover_in(text) == "finish (train.py:8)"


@pytest.mark.parametrize(
    "more",
    [
        "client.close(session)\n",
        "for session in sessions:\n    client.close(session)\n",
        "def finish(client):\n    client.close(1)\nfinish(client)\n",
        "atexit.register(client.close)\n",
        "module.register_forward_hook(client.close)\n",
    ],
    ids=["called", "called in a loop", "called by what is called", "registered", "a hook"],
)
def test_a_method_that_something_calls_is_no_advice(more: str) -> None:
    assert remover_in(CLOSE + more) == ""


def test_a_method_that_calls_itself_is_no_advice() -> None:
    text = f"{CLIENT}    def close(self, session):\n        self.sessions.remove(session)\n        self.close(0)\n"
    assert remover_in(text) == ""


def test_a_method_whose_line_ran_in_a_step_is_no_advice() -> None:
    assert (remover_in(CLOSE, 7), remover_in(CLOSE, 5)) == ("", "Client.close (train.py:6)")


def test_what_the_interpreter_or_a_library_calls_is_no_advice() -> None:
    for name in ("__exit__", "__del__"):
        assert remover_in(f"{CLIENT}    def {name}(self, *args):\n        self.sessions.clear()\n") == ""
    flush = f"{CLIENT}    def flush(self):\n        self.sessions.clear()\n"
    assert (remover_in(flush, bases=("logging.Handler",)), remover_in(flush)) == ("", "Client.flush (train.py:6)")


def test_the_first_value_takes_nothing_out() -> None:
    assert remover_in(CLIENT) == ""


def test_one_remover_that_is_called_says_that_items_are_taken_out() -> None:
    text = f"{CLOSE}    def reset(self):\n        self.sessions.clear()\nclient.reset()\n"
    assert remover_in(text) == ""


def test_without_a_place_there_is_none() -> None:
    assert unused_remover_of(KEPT, 0, Evidence(), [source(CLOSE)]) == ""
