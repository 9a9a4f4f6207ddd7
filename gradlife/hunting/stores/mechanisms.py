"""Statements that store without naming a container: hooks, caches, suspended frames, ctx attributes, log records."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from gradlife.heap.torch_layout.labels import (
    HOOK_TABLE,
    HOOKS,
    PACK_HOOK,
    PACKED,
    POST_ACCUMULATE_HOOKS,
    PREHOOKS,
    TENSOR_HOOKS,
    UNPACK_HOOK,
)
from gradlife.hunting.stores.place import INSIDE, Place, PlaceKind, place_at
from gradlife.hunting.stores.place_statements import assigns, fills
from gradlife.hunting.stores.statements import Fits, Scope, calls, parts
from gradlife.model.trace import Hop, PathStep
from gradlife.source.syntax import Function, called

#: Tables of hooks, and the methods and functions that put something into them.
REGISTRATIONS: dict[str, tuple[str, ...]] = {
    "_forward_hooks": ("register_forward_hook", "register_module_forward_hook"),
    "_forward_pre_hooks": ("register_forward_pre_hook", "register_module_forward_pre_hook"),
    "_backward_hooks": ("register_hook", "register_full_backward_hook", "register_backward_hook"),
    "_backward_pre_hooks": ("register_full_backward_pre_hook",),
    "_post_accumulate_grad_hooks": ("register_post_accumulate_grad_hook",),
    "_state_dict_hooks": ("_register_state_dict_hook", "register_state_dict_post_hook"),
    "_state_dict_pre_hooks": ("register_state_dict_pre_hook",),
    "_load_state_dict_pre_hooks": ("register_load_state_dict_pre_hook", "_register_load_state_dict_pre_hook"),
    "_load_state_dict_post_hooks": ("register_load_state_dict_post_hook",),
    "_global_forward_hooks": ("register_module_forward_hook",),
    "_global_forward_pre_hooks": ("register_module_forward_pre_hook",),
    "_global_backward_hooks": ("register_module_full_backward_hook", "register_module_backward_hook"),
    "_optimizer_step_pre_hooks": ("register_step_pre_hook",),
    "_optimizer_step_post_hooks": ("register_step_post_hook",),
    "_global_optimizer_pre_hooks": ("register_optimizer_step_pre_hook",),
    "_global_optimizer_post_hooks": ("register_optimizer_step_post_hook",),
    TENSOR_HOOKS: ("register_hook",),
    HOOKS: ("register_hook",),
    PREHOOKS: ("register_prehook",),
    HOOK_TABLE: ("register_hook", "register_prehook", "register_multi_grad_hook"),
    POST_ACCUMULATE_HOOKS: ("register_post_accumulate_grad_hook",),
}

#: Methods that make a log record.
LOGGING = ("debug", "info", "warning", "error", "exception", "critical", "log")

#: Lists of loggers and handlers, and the methods that put something into them.
LOGGER_LISTS = {"handlers": "addHandler", "filters": "addFilter"}

#: Functions that give a warning.
WARNING = ("warn", "warn_explicit")

#: Types of objects that a library keeps until something happens, and the calls that make it keep them.
WAITING: dict[str, tuple[str, ...]] = {
    "concurrent.futures.thread._WorkItem": ("submit", "map"),
    "concurrent.futures.process._WorkItem": ("submit", "map"),
    "asyncio.events.Handle": ("call_soon", "call_later", "call_at", "call_soon_threadsafe"),
    "asyncio.events.TimerHandle": ("call_later", "call_at"),
    "threading.Thread": ("Thread", "start_new_thread"),
    "threading.Timer": ("Timer",),
    "weakref.finalize": ("finalize",),
    "weakref.finalize._Info": ("finalize",),
    "_contextvars.Context": ("set",),
    "warnings.WarningMessage": WARNING,
    "unittest.mock._Call": (),
}

#: Functions that register a parametrization of a weight.
NORMS = ("weight_norm", "spectral_norm", "orthogonal")

#: References of roots, and the calls that make them.
ROOTS: dict[str, tuple[str, ...]] = {
    "context": ("set",),
    "atexit callback": ("register",),
    "atexit callbacks": ("register",),  # a list from Python 3.14 on
    "arguments of an atexit callback": ("register",),
}

#: Types of suspended frames.
SUSPENDED = frozenset({"coroutine", "generator", "async_generator"})


def at_step(steps: Sequence[PathStep], number: int) -> Iterator[Fits]:
    """Find statements that make the reference from a step to the next, unless that is a container's item."""
    step = steps[number]
    labels = [hop.label.strip("'") for hop in step.hops]
    native = [hop.label for hop in step.hops]
    hooks = next(filter(None, map(registrations_of, step.hops)), None)
    if hooks is not None:
        callback = callback_of(steps[number + 1 :])
        if callback:
            yield partial(is_call, names=hooks, argument=callback)
        yield partial(is_call, names=hooks)
    if step.type == "functools._lru_cache_wrapper":
        yield from cached_function(step)
    if labels[:1] == ["state"] and step.is_a("torch.optim.optimizer.Optimizer"):
        yield partial(fills, place=Place("state", PlaceKind.ATTRIBUTE, (step.type, *step.bases)))
    if "param_groups" in labels and step.is_a("torch.optim.optimizer.Optimizer"):
        yield partial(is_call, names=("add_param_group",))
    if step.is_a("torch.nn.utils.parametrize.ParametrizationList"):
        yield partial(is_call, names=("register_parametrization", *NORMS))
    if step.is_a("logging.Logger", "logging.Handler"):
        yield from (partial(is_call, names=(name,)) for list_, name in LOGGER_LISTS.items() if list_ in labels)
    if "__warningregistry__" in labels:
        yield partial(is_call, names=WARNING)
    if step.kind == "root" and labels and labels[0] in ROOTS:
        yield partial(is_call, names=ROOTS[labels[0]])
    if step.is_a("torch.autograd.function.FunctionCtx", "torch._C._FunctionBase") or is_node_face(step):
        place = place_at(step)
        if place is not None:
            yield partial(sets_on_ctx, place=place)
    if native[-1:] == ["grad"] and [hop.label for hop in steps[number + 1].hops[:1]] == ["part"]:  # a sparse gradient
        yield partial(is_call, names=("backward",))
    if PACKED in native or PACK_HOOK in native or UNPACK_HOOK in native:
        yield partial(is_call, names=("saved_tensors_hooks", "register_hooks"))


def registrations_of(hop: Hop) -> tuple[str, ...]:
    """Return the calls that put something into the table of hooks that a reference leads to; none if it is no table.

    A variable of the program that is called `hooks`, as C++'s table is, has its name in quotation marks.
    """
    label = hop.label.strip("'")
    return REGISTRATIONS.get(label if label.startswith("_") else hop.label, ())


def kept_by_library(steps: Sequence[PathStep]) -> Iterator[Fits]:
    """Find statements that make a library keep one of these steps."""
    for step in steps:
        if any("atexit" in hop.label for hop in step.hops):
            yield is_for_the_end
        if step.type == "logging.LogRecord":
            yield is_logging
        if step.type in SUSPENDED:
            yield from suspended(step)
        if WAITING.get(step.type):
            yield partial(is_call, names=WAITING[step.type])


def is_node_face(step: PathStep) -> bool:
    """Whether the step is the grad node of a custom Function, which is its ctx."""
    return step.type.startswith("torch.autograd.function.") and step.type.endswith("Backward")


def sets_on_ctx(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Whether the statement sets the attribute on ctx, the first argument of an enclosing function."""
    function = scope.function
    if function is None or not assigns(node, scope, Place(place.name, PlaceKind.ATTRIBUTE, place.owners)):
        return False
    first = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    targets = [part for part in parts(node) if isinstance(part, ast.Attribute) and part.attr == place.name]
    return any(isinstance(one.value, ast.Name) and one.value.id in first for one in targets)


def callback_of(steps: Sequence[PathStep]) -> str:
    """Return the name of the registered function, as the program writes it."""
    for step in steps[:2]:
        found = step.code if step.type in {"function", "method"} else None
        if found is not None:
            return found.name.rpartition(".")[2]
    return ""


def is_call(node: ast.stmt, scope: Scope, names: Sequence[str], argument: str = "") -> bool:
    """Whether the statement calls one of these methods or functions with an argument of that name."""
    return any(called(call) in names and (not argument or has_argument(call, argument)) for call in calls(node))


def has_argument(call: ast.Call, name: str) -> bool:
    """Whether the name is among the arguments of a call."""
    given = [part for one in (*call.args, *call.keywords) for part in ast.walk(one)]
    if name == "<lambda>":
        return any(isinstance(part, ast.Lambda) for part in given)
    names = {part.id for part in given if isinstance(part, ast.Name)}
    return name in names | {part.attr for part in given if isinstance(part, ast.Attribute)}


def is_for_the_end(node: ast.stmt, scope: Scope) -> bool:
    """Whether it registers a function that is called when the program ends."""
    return any(called(call) == "register" and "atexit" in ast.unparse(call.func) for call in calls(node))


def is_logging(node: ast.stmt, scope: Scope) -> bool:
    """Whether the statement calls a logger with an argument besides the text."""
    return isinstance(node, ast.Expr) and any(called(call) in LOGGING and len(call.args) > 1 for call in calls(node))


def cached_function(step: PathStep) -> Iterator[Fits]:
    """Find the decorator that caches what a function returns, or the call that wraps the function."""
    found = step.code
    if found is not None:
        name = found.name.rpartition(".")[2]
        yield partial(is_decorated, name=name)
        yield partial(is_call, names=("lru_cache", "cache"), argument=name)
        yield partial(is_call, names=("lru_cache", "cache"))


def is_decorated(node: ast.stmt, scope: Scope, name: str) -> bool:
    """Whether the statement defines a decorated function of that name."""
    return isinstance(node, Function) and node.name == name and bool(node.decorator_list)


def suspended(step: PathStep) -> Iterator[Fits]:
    """Find the statement at which a frame is suspended."""
    found = step.code
    if found is not None:
        yield partial(stands_at, name=found.name, line=found.line)


def stands_at(node: ast.stmt, scope: Scope, name: str, line: int) -> bool:
    """Whether a statement of that function covers the line."""
    if not scope.names or scope.qualified != name.replace(f".{INSIDE}", "") or isinstance(node, ast.ClassDef):
        return False
    return not is_compound(node) and node.lineno <= line <= (node.end_lineno or node.lineno)


def is_compound(node: ast.stmt) -> bool:
    """Whether the statement contains statements."""
    return isinstance(getattr(node, "body", None), list) or isinstance(node, ast.Match)


def makes_class(step: PathStep) -> Iterator[Fits]:
    """Find the statement that defines a class inside a function, once per call."""
    if (step.type == "type" or step.is_a("type")) and INSIDE in step.detail:
        yield partial(is_class, name=step.detail.rpartition(".")[2])


def is_class(node: ast.stmt, scope: Scope, name: str) -> bool:
    """Whether the statement defines a class of that name inside a function."""
    return isinstance(node, ast.ClassDef) and node.name == name and scope.function is not None


def makes_function(step: PathStep) -> Iterator[Fits]:
    """Find the statement that makes a function: its definition, or the statement that contains the lambda."""
    found = step.code if step.type == "function" else None
    if found is None:
        return
    name, line = found.name, found.line
    if name.endswith("<lambda>"):
        around = name.rpartition(f".{INSIDE}.")[0]
        yield partial(stands_at, name=around, line=line)
    else:
        yield partial(is_function, name=name.rpartition(".")[2], line=line)


def is_function(node: ast.stmt, scope: Scope, name: str, line: int) -> bool:
    """Whether the statement defines a function of that name that begins, with its decorators, at the line."""
    return isinstance(node, Function) and node.name == name and line in range(node.lineno - 20, node.lineno + 1)


def is_backward_with_graph(node: ast.stmt, scope: Scope) -> bool:
    """Whether the statement calls backward with ``create_graph``, so that gradients get a graph."""
    given = [one for call in calls(node) if called(call) == "backward" for one in call.keywords]
    return any(one.arg == "create_graph" and not is_off(one.value) for one in given)


def is_off(node: ast.expr) -> bool:
    """Whether the expression is a literal False."""
    return isinstance(node, ast.Constant) and not node.value
