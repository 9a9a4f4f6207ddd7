"""`--step-on MODULE:FUNCTION`: a step is one call of a function of the program."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import CodeType, ModuleType
from typing import Any

from gradlife.errors import UsageError
from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.steps.compiler import keep_compiler_out, uncompiled, unless_whole
from gradlife.hunting.steps.counted_kinds import dressed, wrapper_of_kind
from gradlife.hunting.steps.replacement import replaced
from gradlife.hunting.steps.targets import UnknownFunction
from gradlife.safe_access import LibraryObject, is_a

MAIN = "__main__"

#: The name of the decorator that counts calls, among the main module's globals.
DECORATOR = "__gradlife_step__"

#: Decorators of compilers, which would compile the counter or refuse it, and of those that do not call the function each time.
TAKES_CODE = frozenset(
    {"compile", "optimize", "jit", "njit", "vectorize", "guvectorize", "script", "cache", "lru_cache", "singledispatch"}
)

#: The hunt's function that is called after each step.
AfterStep = Callable[[], object]


class Call:
    """A call of the function; entering it tells whether it is within no other one."""

    def __init__(self, latest: ContextVar[Call | None]) -> None:
        self._latest = latest  # in this thread or task, and in the tasks that it starts: these may outlive the call
        self._is_running = False

    def __enter__(self) -> bool:
        outer = self._latest.get()
        if outer is not None and outer._is_running:
            return False
        self._is_running = True
        self._latest.set(self)
        return True

    def __exit__(self, *error: object) -> None:
        self._is_running = False


class CallSteps:
    """Counts the calls of one function. A call counts when it returns; one that raises does not count, nor does one
    within another: a module calls modules.

    After the first call, `begin` starts the hunt; its argument is a name for the steps. It returns the hunt's
    function that is called after each further call.
    """

    def __init__(self, target: str, begin: Callable[[str], AfterStep]) -> None:
        module, mark, function = target.partition(":")
        if not all((module, mark, function)):
            raise UsageError(f"{target!r} names no function", "--step-on module:function, or __main__:function")
        self.module = module
        self._names = function.split(".")
        self._begin = partial(begin, f"call of {function}")
        self._after_step: AfterStep | None = None
        self._latest: ContextVar[Call | None] = ContextVar("the latest call", default=None)
        self._undo: Callable[[], object] = lambda: None

    @property
    def name(self) -> str:
        """The name that the module defines: the function, or the class that has the function."""
        return self._names[0]

    def detach(self) -> None:
        """Restore the original function."""
        self._undo()

    def with_counting(self, function: LibraryObject) -> Any:
        """Return a wrapper of the function that counts its calls. A `staticmethod` stays one, and so does a `classmethod`.
        A coroutine function stays one: its call counts when it has been awaited. That of a generator function counts when
        the generator ends.
        """
        if is_a(function, (staticmethod, classmethod)):
            return type(function)(self.with_counting(function.__func__))

        def call(*args: Any, **kwargs: Any) -> Any:
            with Call(self._latest) as is_outermost:
                result = function(*args, **kwargs)
            if is_outermost:
                self._count()
            return result

        of_kind = wrapper_of_kind(function, lambda: Call(self._latest), self._count)
        return dressed(of_kind or unless_whole(call, function), function)

    @uncompiled
    def _count(self) -> None:
        if self._after_step is None:
            self._after_step = self._begin()
        else:
            self._after_step()

    def attach(self, module: ModuleType) -> None:
        """Replace the function by its wrapper in a module that has just been imported."""
        keep_compiler_out()
        owner: LibraryObject = module
        found = owner
        for name in self._names:
            owner, found = found, getattr(found, name, None)
        if not callable(found):
            names = [name for name, value in vars(module).items() if callable(value)]
            raise UnknownFunction("function", ".".join(self._names), names, f"a function of {self.module}")
        name = self._names[-1]
        original = inspect.getattr_static(owner, name)
        # A static or class method is wrapped as such. Any other attribute, such as a partialmethod, is wrapped as the
        # callable that `getattr` makes of it.
        is_static_or_class = is_a(original, (staticmethod, classmethod))
        self._undo = replaced(owner, name, self.with_counting(original if is_static_or_class else found))

    def compile_decorated(self, source: bytes, path: str) -> CodeType:
        """Compile the main module with the decorator `DECORATOR` on the function.

        The module usually calls the function while it is executed, before `attach` could replace it.
        """
        keep_compiler_out()
        tree = ast.parse(source, path)
        body: list[ast.stmt] = tree.body
        found: ast.stmt | None = None
        for name in self._names:
            found = next((node for node in body if getattr(node, "name", None) == name), None)
            body = getattr(found, "body", [])
        if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
            raise UsageError(
                f"{short_path(path)} defines no function {'.'.join(self._names)}", "--step-on __main__:function"
            )
        name_node = ast.Name(DECORATOR, ast.Load())
        found.decorator_list.insert(place_among(found.decorator_list), ast.copy_location(name_node, found))
        return compile(tree, path, "exec", dont_inherit=True)


def place_among(decorators: list[ast.expr]) -> int:
    """Return where the counting decorator stands: below those that may register the function, as `@app.route("/")` does,
    but above those that take its code, and above a cache.
    """
    taking = (number for number, one in enumerate(decorators) if name_of(one) in TAKES_CODE)
    return next(taking, len(decorators))


def name_of(decorator: ast.expr) -> str:
    """Return the last name of a decorator, without its arguments: ``compile`` for ``@torch.compile(dynamic=True)``; of
    ``@partial(torch.compile, dynamic=True)`` that of the function.
    """
    match decorator:
        case ast.Call(ast.Name("partial") | ast.Attribute(attr="partial"), [function, *_]):
            return name_of(function)
        case ast.Call(function):
            return name_of(function)
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""
