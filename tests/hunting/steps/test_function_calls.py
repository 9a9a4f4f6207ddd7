"""`--step-on`: calls of functions and of methods of every kind are counted, and get the arguments that they got before."""

from __future__ import annotations

import ast
import asyncio
import inspect
import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from gradlife.errors import UsageError
from gradlife.hunting.steps.function_calls import DECORATOR, CallSteps, name_of
from gradlife.hunting.steps.targets import UnknownFunction

SOURCE = """
def step(*words):
    return words

class Trainer:
    def plain(self, *words):
        return type(self).__name__, *words
    @staticmethod
    def static(*words):
        return words
    @classmethod
    def of_class(cls, *words):
        return cls.__name__, *words

class Own(Trainer):
    pass
"""

METHODS = [("plain", ("Own", 1)), ("static", (1,)), ("of_class", ("Own", 1))]


def counter_for(target: str) -> tuple[CallSteps, list[str]]:
    """Return the counter of a function's calls, and what it reports: the name of the steps, then each further call."""
    seen: list[str] = []

    def begin(name: str) -> Callable[[], object]:
        seen.append(name)
        return lambda: seen.append("after")

    return CallSteps(target, begin), seen


def module_with(source: str, **values: Any) -> ModuleType:
    """Return a module that is no file."""
    module = ModuleType("trainer")
    vars(module).update(values)
    exec(source, vars(module))
    return module


def test_calls_count_until_the_function_is_put_back() -> None:
    steps, seen = counter_for("trainer:step")
    module = module_with(SOURCE)
    steps.attach(module)
    assert [module.step(number) for number in range(3)] == [(0,), (1,), (2,)]
    assert seen == ["call of step", "after", "after"]
    steps.detach()
    module.step()
    assert len(seen) == 3


@pytest.mark.parametrize(("name", "answer"), METHODS)
def test_a_method_of_any_kind_gets_its_arguments_in_a_module(name: str, answer: tuple[Any, ...]) -> None:
    steps, seen = counter_for(f"trainer:Trainer.{name}")
    module = module_with(SOURCE)
    steps.attach(module)
    assert getattr(module.Own(), name)(1) == answer
    assert getattr(module.Own(), name)(1) == answer
    assert seen == [f"call of Trainer.{name}", "after"]


@pytest.mark.parametrize(("name", "answer"), METHODS)
def test_a_method_of_any_kind_gets_its_arguments_in_the_main_module(name: str, answer: tuple[Any, ...]) -> None:
    steps, seen = counter_for(f"__main__:Trainer.{name}")
    module = ModuleType("main")
    vars(module)[DECORATOR] = steps.with_counting
    exec(steps.compile_decorated(SOURCE.encode(), "main.py"), vars(module))
    assert getattr(module.Own(), name)(1) == answer
    assert seen == [f"call of Trainer.{name}"]


def test_a_method_of_an_instance_is_its_class_s_again_when_counting_ends() -> None:
    steps, seen = counter_for("trainer:own.plain")
    module = module_with(SOURCE + "own = Own()\n")
    steps.attach(module)
    assert module.own.plain(1) == ("Own", 1)
    steps.detach()
    assert module.own.plain(2) == ("Own", 2)
    assert (seen, vars(module.own)) == (["call of own.plain"], {})


def test_a_method_of_a_base_class_is_not_left_in_the_derived_one() -> None:
    steps, seen = counter_for("trainer:Own.plain")
    module = module_with(SOURCE)
    steps.attach(module)
    assert (module.Trainer().plain(1), module.Own().plain(1)) == (("Trainer", 1), ("Own", 1))
    steps.detach()
    assert (seen, "plain" in vars(module.Own)) == (["call of Own.plain"], False)


def test_a_coroutine_function_stays_one_and_counts_when_it_has_been_awaited() -> None:
    steps, seen = counter_for("trainer:step")
    module = module_with("async def step(number):\n    return number\n")
    steps.attach(module)
    assert inspect.iscoroutinefunction(module.step)
    waiting = module.step(1)
    assert seen == []
    assert asyncio.run(waiting) == 1
    assert seen == ["call of step"]


def test_calls_within_a_call_are_no_steps() -> None:
    """`--step-on torch.nn:Module.__call__` counted each layer, and what a pass collects of them seemed to grow."""
    steps, seen = counter_for("trainer:walk")
    module = module_with(
        "def walk(depth):\n    if depth < 0:\n        raise ValueError\n    return depth and walk(depth - 1)\n"
    )
    steps.attach(module)
    assert [module.walk(3), module.walk(0)] == [0, 0]
    assert seen == ["call of walk", "after"]
    with pytest.raises(ValueError):
        module.walk(-1)
    module.walk(1)
    assert seen == ["call of walk", "after", "after"]


NESTED_COROUTINES = """
import asyncio

tasks = []

async def step(depth):
    await asyncio.sleep(0)
    if depth:
        await step(depth - 1)

async def chain(length):
    if length > 1:
        tasks.append(asyncio.create_task(chain(length - 1)))

async def run():
    await asyncio.gather(*[step(2) for _ in range(5)])

async def run_chain():
    await chain(4)
    for task in tasks:
        await task
"""


def test_coroutines_within_a_step_are_no_steps_and_those_side_by_side_are() -> None:
    steps, seen = counter_for("trainer:step")
    module = module_with(NESTED_COROUTINES)
    steps.attach(module)
    asyncio.run(module.run())
    assert seen == ["call of step"] + ["after"] * 4


def test_a_task_that_outlives_the_step_that_started_it_is_a_step() -> None:
    steps, seen = counter_for("trainer:chain")
    module = module_with(NESTED_COROUTINES)
    steps.attach(module)
    asyncio.run(module.run_chain())
    assert seen == ["call of chain"] + ["after"] * 3


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UsageError):
        counter_for("trainer")
    with pytest.raises(UnknownFunction):
        counter_for("trainer:missing")[0].attach(module_with(SOURCE))
    with pytest.raises(UsageError):
        counter_for("__main__:missing")[0].compile_decorated(SOURCE.encode(), "main.py")


REGISTERED = """
from __future__ import annotations
handlers, takers = {{}}, []

def route(path):
    return lambda function: handlers.setdefault(path, function)

def jit(function):
    takers.append(function.__name__)
    return lambda *words: function(*words)

class Answer:
    pass

{decorators}
{kind} step(word) -> Answer:
    {body}
"""


def main_with(decorators: str, kind: str = "def", body: str = "return word") -> tuple[Any, list[str]]:
    """Return a main module whose function `step` is counted, and what the counter reports."""
    steps, seen = counter_for("__main__:step")
    module = ModuleType("main")
    vars(module)[DECORATOR] = steps.with_counting
    source = REGISTERED.format(decorators=decorators, kind=kind, body=body)
    exec(steps.compile_decorated(source.encode(), "main.py"), vars(module))
    return module, seen


def test_a_function_that_a_decorator_registers_is_counted_in_the_registry() -> None:
    """The counter was outermost, and the registry kept the function that does not count."""
    module, seen = main_with('@route("/a")\n@route("/b")')
    assert [handle(1) for handle in module.handlers.values()] == [1, 1]
    assert seen == ["call of step", "after"]
    assert typing.get_type_hints(module.handlers["/a"]) == {"return": module.Answer}
    assert module.handlers["/a"].__globals__ is vars(module)


def test_a_decorator_that_compiles_gets_the_function_itself() -> None:
    module, seen = main_with('@route("/a")\n@jit')
    assert (module.handlers["/a"](1), module.takers, seen) == (1, ["step"], ["call of step"])


@pytest.mark.parametrize(
    ("decorator", "name"),
    [
        ("torch.compile(dynamic=True)", "compile"),
        ("functools.partial(torch.compile, mode=1)", "compile"),
        ("njit", "njit"),
        ("handlers[0]", ""),
    ],
)
def test_the_name_of_a_decorator_is_the_last_one(decorator: str, name: str) -> None:
    assert name_of(ast.parse(decorator, mode="eval").body) == name


def test_a_registered_coroutine_function_stays_one() -> None:
    module, seen = main_with('@route("/a")', "async def")
    handle = module.handlers["/a"]
    assert inspect.iscoroutinefunction(handle)
    assert (asyncio.run(handle(1)), seen) == (1, ["call of step"])


def test_a_generator_counts_when_it_ends_or_is_closed() -> None:
    module, seen = main_with('@route("/a")', body="yield (yield word)")
    handle = module.handlers["/a"]
    assert inspect.isgeneratorfunction(handle)
    first = handle(1)
    assert (next(first), first.send(2), seen) == (1, 2, [])
    assert (list(first), seen) == ([], ["call of step"])
    second = handle(1)
    next(second)
    second.close()
    assert seen == ["call of step", "after"]


def test_a_generator_within_a_generator_is_no_step() -> None:
    module, seen = main_with("", body="yield from (step(word - 1) if word else ())")
    assert (list(module.step(3)), seen) == ([], ["call of step"])


def test_an_asynchronous_generator_gets_what_is_sent_and_thrown() -> None:
    body = "try:\n        yield (yield word)\n    except KeyError as error:\n        yield error"
    module, seen = main_with('@route("/a")', "async def", body)
    handle = module.handlers["/a"]
    assert inspect.isasyncgenfunction(handle)

    async def use() -> list[object]:
        one, error = handle(1), KeyError()
        found = [await anext(one), await one.asend(2), await one.athrow(error) is error]
        rest = [*found, [word async for word in one], *seen]
        other = handle(1)
        await anext(other)
        await other.aclose()
        return rest

    assert asyncio.run(use()) == [1, 2, True, [], "call of step"]
    assert seen == ["call of step", "after"]
