"""Objects that only the interpreter and its threads hold: each is held, and its path names the holder."""

from __future__ import annotations

import asyncio
import atexit
import builtins
import codecs
import contextvars
import functools
import gc
import inspect
import operator
import os
import re
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gradlife.heap import refs, why
from gradlife.model.trace import Lifetime, Trace
from leftovers import run_in_child
from python_versions import LISTS_EXIT_CALLBACKS


class Thing:
    """Something that one root holds, and nothing else."""


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def closing_over(thing: Any) -> Callable[..., Any]:
    def function(*_: object) -> None:
        assert thing

    return function


def sentence(trace: Trace) -> str:
    """The whole path on one line, without line numbers."""
    return " → ".join(f"{f'{step.object} {step.detail}'.strip()}: {step.via}".strip(": ") for step in trace.steps)


def path_from(hold: Callable[[Thing], object]) -> str:
    """The path to a thing that was given to `hold`, and to nobody else."""

    def build() -> weakref.ref[Thing]:
        thing = Thing()
        hold(thing)
        return weakref.ref(thing)

    trace = why(build()())
    assert trace.lifetime is Lifetime.HELD
    return sentence(trace)


@contextmanager
def thread_in(target: Callable[..., object], *args: object, name: str) -> Iterator[None]:
    """A thread that is inside `target`, which calls its first argument when it is there and then waits."""
    inside, leave = threading.Event(), threading.Event()

    def arrive() -> int:
        inside.set()
        return int(leave.wait())

    thread = threading.Thread(target=target, args=(arrive, *args), name=name)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()


# --- threads ---


def test_contextvar_of_a_thread() -> None:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("request")
    token = []
    try:
        path = path_from(lambda thing: token.append(variable.set(thing)))
    finally:
        variable.reset(token[0])
    assert path == "thread MainThread: contextvar 'request' → Thing"


def test_contextvar_of_another_thread() -> None:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("request")
    references: list[weakref.ref[Thing]] = []

    def work(arrive: Callable[[], int]) -> None:
        variable.set(Thing())
        references.append(weakref.ref(variable.get()))
        arrive()

    with thread_in(work, name="T-1"):
        trace = why(references[0]())
    assert sentence(trace) == "thread T-1: contextvar 'request' → Thing"


def worker(arrive: Callable[[], int], references: list[Any]) -> None:
    x = Thing()
    references.append(weakref.ref(x))
    arrive()


def test_local_variable_of_another_thread_names_the_thread() -> None:
    references: list[Any] = []
    with thread_in(worker, references, name="T-1"):
        trace = why(references[0]())
    line = worker.__code__.co_firstlineno + 3
    assert [(step.detail, step.via) for step in trace.steps] == [
        (f"worker (test_roots.py:{line}), thread 'T-1'", "local variable 'x'"),
        ("", ""),
    ]


def streaming(arrive: Callable[[], int], references: list[Any]) -> Iterator[int]:
    x = Thing()
    references.append(weakref.ref(x))
    yield arrive()


def first_of(arrive: Callable[[], int], references: list[Any]) -> None:
    next(streaming(arrive, references))  # called once only: no instruction has been specialized


def test_arguments_of_a_call_that_is_made_for_the_first_time() -> None:
    references: list[Any] = []
    with thread_in(first_of, references, name="T-1"):
        [generator] = [one for one in gc.get_referrers(references[0]()) if inspect.isgenerator(one)]
        shown = [one for one in why(generator).ledger.referrers if one.object == "running frame"]
        assert [one.via for one in shown if one.detail.startswith("first_of")] == ["a value that it computes with"]
        del generator


class Counting:
    """An iterator that only the loop over it holds."""

    def __init__(self, references: list[Any]) -> None:
        self.thing = Thing()
        self.left = 1
        references.append(weakref.ref(self.thing))

    def __iter__(self) -> Counting:
        return self

    def __next__(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left


def looping(arrive: Callable[[], int], references: list[Any]) -> None:
    for _ in Counting(references):
        sorted([0], key=lambda _: arrive())


def test_value_on_the_stack_of_a_frame_that_is_inside_c_code() -> None:
    references: list[Any] = []
    with thread_in(looping, references, name="T-1"):
        trace = why(references[0]())
    assert trace.lifetime is Lifetime.HELD
    assert [step.via for step in trace.steps] == ["a value that it computes with", ".thing", ""]
    assert trace.steps[0].detail.startswith("looping (test_roots.py:")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of 3.12")
@pytest.mark.parametrize(
    "events", ["LINE", "INSTRUCTION", "CALL JUMP BRANCH PY_RETURN", "LINE INSTRUCTION CALL BRANCH JUMP"]
)
def test_value_on_the_stack_of_a_frame_that_a_debugger_watches(events: str) -> None:
    """After hypothesis explained a failure, or under coverage, objects of such a frame were reported as unreachable."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    monitoring.use_tool_id(4, "a debugger")
    monitoring.set_events(
        4, functools.reduce(operator.or_, (getattr(monitoring.events, name) for name in events.split()))
    )
    references: list[Any] = []
    try:
        with thread_in(looping, references, name="T-1"):
            trace = why(references[0]())
    finally:
        monitoring.set_events(4, 0)
        monitoring.free_tool_id(4)
    assert trace.lifetime is Lifetime.HELD
    assert [step.via for step in trace.steps] == ["a value that it computes with", ".thing", ""]


def nested(arrive: Callable[[], int], references: list[Any]) -> None:
    try:
        for _ in range(2):
            with memoryview(b""):
                for number in Counting(references):
                    if number == 0:
                        _ = [sorted([0], key=lambda _: arrive()) for _ in Counting(references)]
                    break
            break
    finally:
        references.append(None)


def test_stack_is_followed_through_branches_and_handlers() -> None:
    references: list[Any] = []
    with thread_in(nested, references, name="T-1"):
        paths = [[step.via for step in why(reference()).steps] for reference in references]
    assert [path[1:] for path in paths] == [[".thing", ""]] * 2
    # Before 3.12 a comprehension has a frame of its own.
    assert {path[0] for path in paths} <= {"a value that it computes with", "what it iterates over"}


def generating(arrive: Callable[[], int], references: list[Any]) -> Iterator[None]:
    kept = Thing()
    references.append(weakref.ref(kept))
    sorted([0], key=lambda _: arrive())
    yield


def running_generator(arrive: Callable[[], int], references: list[Any]) -> None:
    for _ in generating(arrive, references):
        pass


def test_variable_of_a_generator_that_runs() -> None:
    references: list[Any] = []
    with thread_in(running_generator, references, name="T-1"):
        trace = why(references[0]())
    assert trace.steps[0].object == "running frame"
    assert trace.steps[0].detail.startswith("generating (test_roots.py:")
    assert trace.steps[0].via == "local variable 'kept'"


def handling(arrive: Callable[[], int], references: list[Any]) -> None:
    try:
        raise ValueError(held := Thing())
    except ValueError:
        references.append(weakref.ref(held))
        del held
        arrive()


def test_exception_that_a_thread_handles() -> None:
    references: list[Any] = []
    with thread_in(handling, references, name="T-1"):
        trace = why(references[0]())
    assert [step.via for step in trace.steps] == ["exception being handled", ".args", "[0]", ""]
    assert trace.steps[0].detail == "T-1"


def test_thread_local() -> None:
    local = threading.local()
    path = path_from(lambda thing: setattr(local, "kept", thing))
    assert path.endswith("_local: .kept → Thing")


@pytest.mark.parametrize(("use", "label"), [(sys.settrace, "trace function"), (sys.setprofile, "profile function")])
def test_function_that_a_debugger_sets(use: Callable[[Any], None], label: str) -> None:
    before = (sys.gettrace(), sys.getprofile())
    try:
        path = path_from(lambda thing: use(closing_over(thing)))
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert path.startswith(f"thread MainThread: {label} → function closing_over.<locals>.function")
    assert path.endswith("closure variable 'thing' → Thing")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="before Python 3.14 asyncio keeps them in a dict of its own")
def test_event_loop_and_task_that_run() -> None:
    async def main() -> list[set[str]]:
        return [{one.via for one in refs(it).referrers} for it in (asyncio.get_running_loop(), asyncio.current_task())]

    loop, task = asyncio.run(main())
    assert "running event loop" in loop
    assert "running task" in task


@pytest.mark.skipif(sys.version_info < (3, 15), reason="imports are lazy from Python 3.15 on")
def test_filter_of_lazy_imports() -> None:
    before = sys.get_lazy_imports_filter()  # type: ignore[attr-defined, unused-ignore]
    try:
        path = path_from(lambda thing: sys.set_lazy_imports_filter(closing_over(thing)))  # type: ignore[attr-defined, unused-ignore]
    finally:
        sys.set_lazy_imports_filter(before)  # type: ignore[attr-defined, unused-ignore]
    assert path.startswith("interpreter: filter of lazy imports → function closing_over.<locals>.function")


def test_hook_of_asynchronous_generators() -> None:
    before = sys.get_asyncgen_hooks()
    try:
        path = path_from(lambda thing: sys.set_asyncgen_hooks(finalizer=closing_over(thing)))
    finally:
        sys.set_asyncgen_hooks(*before)
    assert path.startswith("thread MainThread: async generator hook → function")


def test_variable_of_a_class_body_that_runs() -> None:
    class Body:
        kept = Thing()
        words = sentence(why(kept))

    assert Body.words.endswith("local variable 'kept' → Thing")


# --- the interpreter ---


def test_callback_at_exit() -> None:
    made: list[Any] = []

    def hold(thing: Thing) -> None:
        made.append(weakref.ref(atexit.register(closing_over(thing))))

    try:
        path = path_from(hold)
    finally:
        atexit.unregister(made[0]())
    label = "atexit callbacks → list len N: [N] → tuple len 3: [0]" if LISTS_EXIT_CALLBACKS else "atexit callback"
    path = re.sub(r"list len \d+: \[\d+\]", "list len N: [N]", path)
    assert path.startswith(f"interpreter: {label} → function closing_over.<locals>.function")


def test_argument_of_a_callback_at_exit() -> None:
    try:
        path = path_from(lambda thing: atexit.register(closing_over, thing))
    finally:
        atexit.unregister(closing_over)
    label = "arguments of an atexit callback"
    if LISTS_EXIT_CALLBACKS:
        label = "atexit callbacks → list len N: [N] → tuple len 3: [1]"
    path = re.sub(r"list len \d+: \[\d+\]", "list len N: [N]", path)
    assert path == f"interpreter: {label} → tuple len 1: [0] → Thing"


def test_handler_of_a_signal() -> None:
    before = signal.getsignal(signal.SIGUSR2)
    try:
        path = path_from(lambda thing: signal.signal(signal.SIGUSR2, closing_over(thing)))
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert path.startswith("interpreter: signal handler → function closing_over.<locals>.function")


def test_callback_of_the_collector() -> None:
    try:
        path = path_from(lambda thing: gc.callbacks.append(closing_over(thing)))
    finally:
        gc.callbacks.pop()
    assert "gc" in path
    assert path.endswith("closure variable 'thing' → Thing")


def test_search_function_of_codecs() -> None:
    made: list[Any] = []

    def hold(thing: Thing) -> None:
        def search(name: str) -> None:
            assert thing

        codecs.register(search)
        made.append(weakref.ref(search))

    try:
        path = path_from(hold)
    finally:
        codecs.unregister(made[0]())
    assert path.startswith("interpreter: codec search functions → list")


def test_error_handler_of_codecs() -> None:
    try:
        path = path_from(lambda thing: codecs.register_error("test of roots", closing_over(thing)))
    finally:
        codecs.register_error("test of roots", codecs.strict_errors)
    assert path.startswith("interpreter: codec error handlers → dict")


def path_in_child(hold: Callable[[Thing], object]) -> str:
    """For what cannot be undone."""
    return run_in_child(path_from, hold)


def test_hook_of_audits() -> None:
    assert path_in_child(lambda thing: sys.addaudithook(closing_over(thing))).startswith(
        "interpreter: audit hooks → list"
    )


@pytest.mark.parametrize(
    ("keyword", "label"),
    [("before", "before-fork"), ("after_in_child", "after-fork"), ("after_in_parent", "after-fork")],
)
def test_callback_of_forks(keyword: str, label: str) -> None:
    path = path_in_child(lambda thing: os.register_at_fork(**{keyword: closing_over(thing)}))
    assert path.startswith(f"interpreter: {label} callbacks → list")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of 3.12")
def test_callback_of_monitoring() -> None:
    monitoring: Any = vars(sys)["monitoring"]
    monitoring.use_tool_id(4, "test of roots")
    try:
        path = path_from(lambda thing: monitoring.register_callback(4, monitoring.events.LINE, closing_over(thing)))
    finally:
        monitoring.register_callback(4, monitoring.events.LINE, None)
        monitoring.free_tool_id(4)
    assert path.startswith("interpreter: monitoring callback → function")


def test_name_put_into_builtins() -> None:
    try:
        path = path_from(lambda thing: setattr(builtins, "test_of_roots", thing))
    finally:
        del vars(builtins)["test_of_roots"]
    assert path == "interpreter: global variable 'test_of_roots' of module builtins → Thing"


def test_last_exception_that_was_shown() -> None:
    def hold(thing: Thing) -> None:
        sys.last_value = ValueError(thing)

    try:
        path = path_from(hold)
    finally:
        del sys.last_value
    assert (
        path == "interpreter: global variable 'last_value' of module sys → ValueError: .args → tuple len 1: [0] → Thing"
    )


def test_type_written_in_c_is_held() -> None:
    assert why(type(iter([]))).lifetime is Lifetime.HELD


@pytest.mark.parametrize("entry", [None, True, 5, "an interned name", (), b"", 1.5])
def test_what_never_dies_is_held(entry: object) -> None:
    assert why(entry).lifetime is Lifetime.HELD


# Before 3.12 the first two are counted like others, and C code holds them too.
@pytest.mark.parametrize("entry", [None, True, 7, ()][2 * (sys.version_info < (3, 12)) :])
def test_what_never_dies_has_no_references_to_account_for(entry: object) -> None:
    ledger = why(entry).ledger
    assert ledger.unaccounted == 0
    assert ledger.count < 10**8


# --- while others work ---


def churn(stop: threading.Event, failures: list[BaseException]) -> None:
    kept: list[Any] = []
    try:
        while not stop.is_set():
            kept = [{"number": n, "list": [n, kept[-1:]], "object": Thing()} for n in range(200)]
            kept[0]["self"] = kept
            del kept[100:]
    except BaseException as error:
        failures.append(error)


def test_other_threads_may_allocate_and_free_meanwhile() -> None:
    stop = threading.Event()
    failures: list[BaseException] = []
    threads = [threading.Thread(target=churn, args=(stop, failures)) for _ in range(3)]
    gc.enable()
    thing = Thing()
    for thread in threads:
        thread.start()
    try:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            assert why(thing).lifetime is Lifetime.HELD
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
