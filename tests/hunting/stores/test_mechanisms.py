"""The line that stores where no container's name tells it: hooks, caches, ctx, frames, cycles, library containers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.model.growth import Growth
from gradlife.model.trace import PROFILED, UNHELD, Hop, Ledger, Lifetime, PathStep, Trace
from stored_traces import LIST, attributes, cell, key, owned, ring, source, step, trace, variable


def found(
    kept: Trace, text: str, anchor: int | None = None, ran: tuple[int, ...] = (), created: tuple[str, ...] = ()
) -> tuple[int, str, str] | None:
    evidence = Evidence(created, frozenset(("train.py", line) for line in ran))
    place = stored_at(kept, evidence, [source(text)], Growth(step=anchor))
    return (place.line, place.source, place.confidence.value) if place else None


NN = ("torch.nn.modules.module.Module",)
LINEAR = "torch.nn.modules.linear.Linear"
HOOK = step("function", detail="watch.<locals>.note (train.py:2)")


def hooked(table: str, type_: str = LINEAR, callback: PathStep = HOOK) -> Trace:
    owner = attributes(type_, "__dict__", table, "41", bases=NN)
    return trace(variable("model"), owner, callback)


HOOKS = [
    ("_forward_hooks", "model.register_forward_hook(note)"),
    ("_forward_pre_hooks", "model.register_forward_pre_hook(note)"),
    ("_backward_hooks", "model.register_full_backward_hook(note)"),
    ("_backward_pre_hooks", "model.register_full_backward_pre_hook(note)"),
    ("_state_dict_hooks", "model._register_state_dict_hook(note)"),
]


@pytest.mark.parametrize(("table", "line"), HOOKS)
def test_a_hook_is_stored_by_the_call_that_registers_it(table: str, line: str) -> None:
    text = f"def watch(model):\n    def note(*given): pass\n    {line}\n    model.register_forward_hook(other)\n"
    assert found(hooked(table), text, 1) == (3, line, "sure")


def test_a_hook_of_a_tensor_that_is_a_lambda() -> None:
    text = "def watch(w, x):\n    handle = w.register_hook(lambda g: g * x)\n    w.register_hook(other)\n"
    owner = PathStep("Parameter", "float32 [8]", "python", "", "native", type="torch.nn.parameter.Parameter")
    owner = replace(owner, hops=(Hop("", "native", "_backward_hooks"), Hop("dict", "dict_value", "183")))
    kept = trace(variable("w"), owner, step("function", detail="watch.<locals>.<lambda> (train.py:2)"), cell("x"))
    assert found(kept, text, 1) == (2, "handle = w.register_hook(lambda g: g * x)", "sure")


def test_a_cache_is_stored_into_by_its_decorator() -> None:
    text = "import functools\n@functools.lru_cache(maxsize=None)\ndef grid(n):\n    return n\n"
    kept = trace(variable("grid"), step("functools._lru_cache_wrapper", "internal", "cache", "grid (train.py:2)"))
    assert found(kept, text, 1) == (2, "@functools.lru_cache(maxsize=None)", "sure")


def test_a_cache_is_stored_into_by_the_call_that_wraps_the_function() -> None:
    text = "def grid(n):\n    return n\nfast = functools.lru_cache(None)(grid)\n"
    kept = trace(variable("fast"), step("functools._lru_cache_wrapper", "internal", "cache", "grid (train.py:1)"))
    assert found(kept, text, 1) == (3, "fast = functools.lru_cache(None)(grid)", "sure")


def test_an_attribute_of_ctx_is_stored_in_forward_and_not_where_others_have_the_name() -> None:
    text = "class F:\n    def forward(ctx, x):\n        ctx.result = x\n\ndef report(out, x):\n    log.result = x\n"
    node = attributes("torch.autograd.function.FBackward", "__dict__", "result")
    cycle = (step("torch.Tensor", "native", "grad_fn"), node)
    assert found(ring(*cycle), text) == (3, "ctx.result = x", "sure")


@pytest.mark.parametrize(
    ("line", "kind"),
    [("await reply.wait()", "coroutine"), ("yield x.mean()", "generator"), ("yield", "async_generator")],
)
def test_a_frame_that_waits_is_stored_where_it_waits(line: str, kind: str) -> None:
    text = f"async def handle(x, reply):\n    y = x / 255\n    {line}\n    return y\n"
    waiting = step("collections.deque", "item", length=257)
    frame = step(kind, "local", "y", "handle (train.py:3)")
    kept = trace(variable("loop"), owned("_waiters", "asyncio.locks.Event"), waiting, frame)
    assert found(kept, text, 2) == (3, line, "sure")


def test_a_list_of_generators_is_stored_into_by_its_own_append() -> None:
    text = "def rows(x):\n    yield x\ndef step(t, x):\n    t.losses.append(rows(x))\n"
    frame = step("generator", "local", "x", "rows (train.py:2)")
    kept = trace(variable("trainer"), owned("losses"), LIST, frame)
    assert found(kept, text, 2) == (4, "t.losses.append(rows(x))", "sure")


def test_a_log_record_is_stored_by_the_call_that_logs() -> None:
    text = "def step(log, i, x):\n    log.info('start')\n    log.info('%d %s', i, x)\n"
    record = step("logging.LogRecord", "attribute", "args")
    kept = trace(variable("handler"), owned("buffer", "logging.handlers.MemoryHandler"), LIST, record)
    assert found(kept, text, 2) == (3, "log.info('%d %s', i, x)", "sure")


def test_a_queue_is_filled_by_the_name_that_the_program_has_for_it() -> None:
    text = "class Writer:\n    def add(self, x):\n        self.events.put({'x': x})\n"
    waiting = step("collections.deque", "item", length=257)
    kept = trace(owned("events", "__main__.Writer"), owned("queue", "queue.Queue"), waiting)
    assert found(kept, text, 2) == (3, "self.events.put({'x': x})", "sure")


def test_a_weak_dictionary_with_strong_values_is_filled_by_an_item() -> None:
    text = "profiles = weakref.WeakKeyDictionary()\ndef register(model):\n    profiles[model] = [model]\n"
    table = step("dict", "dict_value", "<weak reference>", length=257)
    kept = trace(variable("profiles"), owned("data", "weakref.WeakKeyDictionary"), table)
    assert found(kept, text, 2) == (3, "profiles[model] = [model]", "sure")


def test_an_optimizer_gets_groups() -> None:
    text = "def grow(opt, head):\n    opt.add_param_group({'params': head})\n"
    owner = step("torch.optim.adam.Adam", "attribute", "param_groups")
    kept = trace(variable("opt"), replace(owner, bases=("torch.optim.optimizer.Optimizer",)))
    assert found(kept, text, 1) == (2, "opt.add_param_group({'params': head})", "sure")


def test_a_cycle_through_a_variable_of_a_frame_is_closed_by_its_assignment() -> None:
    text = "def safe(x):\n    error = None\n    try:\n        f(x)\n    except ValueError as e:\n        error = e\n"
    cycle = (step("frame", "local", "error", "safe (train.py:6)"), step("ValueError", "internal", "__traceback__"))
    assert found(ring(*cycle), text) == (6, "error = e", "sure")


def test_a_method_that_its_own_object_keeps() -> None:
    text = "class Pool:\n    def __init__(self):\n        self.impl = self.mean\n"
    cycle = (owned("impl", "__main__.Pool"), step("method", "internal", "__self__", "Pool.mean (train.py:9)"))
    assert found(ring(*cycle), text) == (3, "self.impl = self.mean", "sure")


def test_a_class_that_a_function_makes() -> None:
    text = "def apply(x, mask):\n    class Masked(Function):\n        pass\n    return Masked.apply(x)\n"
    meta = attributes("torch.autograd.function.FunctionMeta", "__dict__", "_backward_cls", bases=("type",))
    meta = replace(meta, detail="train.apply.<locals>.Masked")
    assert found(ring(meta), text) == (2, "class Masked(Function):", "sure")


def test_an_inner_function_that_calls_itself_is_stored_by_its_definition() -> None:
    text = "def walk(tree):\n    def visit(node):\n        visit(node)\n    visit(tree)\n"
    inner = replace(cell("visit"), detail="walk.<locals>.visit (train.py:2)")
    assert found(ring(inner), text) == (2, "def visit(node):", "sure")


def test_a_pack_hook_is_stored_by_the_block_that_sets_it() -> None:
    text = "def score(x):\n    with saved_tensors_hooks(keep, keep):\n        return x.exp()\n"
    node = PathStep(
        "ExpBackward0", "", "grad_node", "", "native", hops=(Hop("torch::ExpBackward0", "native", "packed"),)
    )
    cycle = (step("torch.Tensor", "native", "grad_fn"), node)
    assert found(ring(*cycle), text) == (2, "with saved_tensors_hooks(keep, keep):", "sure")


def test_a_gradient_with_a_graph_is_stored_by_backward_and_not_by_grad() -> None:
    text = "def f(x):\n    grad(x, create_graph=True)\n    x.backward(create_graph=True)\n    x.backward(create_graph=False)\n"
    leaf = PathStep("TensorImpl", "", "tensor", "", "native", hops=(Hop("torch::TensorImpl", "native", "grad"),))
    assert found(ring(leaf), text) == (3, "x.backward(create_graph=True)", "sure")


def test_a_cycle_of_a_library_is_stored_by_the_line_of_the_program_that_led_to_it() -> None:
    text = "def build(x):\n    return torch.fx.symbolic_trace(x)\n"
    cycle = (
        attributes("torch.fx.graph_module.GraphModuleImpl", "__dict__", "_graph"),
        owned("owner", "torch.fx.graph.Graph"),
    )
    assert found(ring(*cycle), text, created=("train.py:2 in build",)) == (
        2,
        "return torch.fx.symbolic_trace(x)",
        "sure",
    )
    assert found(ring(*cycle), text) is None


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("state['out'][n] = x", (variable("state"), key("out"), LIST)),
        ("t.record['states'][n] = x", (variable("t"), owned("record"), key("states"), LIST)),
        ("t.groups[n].append(x)", (variable("t"), owned("groups"), step("dict", "dict_value", "3"), LIST)),
        (
            "t.groups.setdefault(n, []).append(x)",
            (variable("t"), owned("groups"), step("dict", "dict_value", "3"), LIST),
        ),
        ("heapq.heappush(t.losses, (n, x))", (variable("t"), owned("losses"), LIST)),
        ("t.losses.insert(0, x)", (variable("t"), owned("losses"), LIST)),
        ("t.losses.update({n: x})", (variable("t"), owned("losses"), LIST)),
        (
            "type(t).losses.append(x)",
            (variable("Trainer"), replace(owned("losses", "type"), detail="__main__.Trainer"), LIST),
        ),
    ],
)
def test_containers_in_containers_and_of_classes(line: str, places: tuple[PathStep, ...]) -> None:
    text = f"def step(t, state, n, x):\n    {line}\n"
    assert found(trace(*places), text, len(places) - 1) == (2, line, "sure")


def test_a_default_argument_and_a_captured_list_are_filled_in_their_function() -> None:
    text = "def f(x, seen=[]):\n    seen.append(x)\ndef g(seen):\n    def h(x):\n        seen.append(x)\n    return h\n"
    default = replace(step("function", "internal", "__defaults__:seen"), detail="f (train.py:1)")
    assert found(trace(variable("f"), default, LIST), text, 2) == (2, "seen.append(x)", "sure")
    captured = replace(cell("seen"), detail="g.<locals>.h (train.py:4)")
    assert found(trace(variable("h"), captured, LIST), text, 2) == (5, "seen.append(x)", "sure")


def test_a_captured_dict_is_found_though_the_function_has_the_name_of_the_one_that_it_wraps() -> None:
    """`functools.wraps` copies the name: the report showed the line of the decorator."""
    text = (
        "def memo(f):\n    seen = {}\n    @functools.wraps(f)\n    def g(x):\n        if x not in seen:\n"
        "            seen[x] = f(x)\n        return seen[x]\n    return g\nfeatures = memo(features)\n"
    )
    captured = replace(cell("seen"), detail="features (train.py:3)")
    assert found(trace(variable("features"), captured, step("dict", "dict_value", "7")), text, 2) == (
        6,
        "seen[x] = f(x)",
        "sure",
    )


def test_the_attribute_of_a_chain_stores_not_the_variable_of_its_newest_link() -> None:
    text = "def step(state, x):\n    out = f(x)\n    out.parent = state.current\n    state.current = out\n"
    link = attributes("__main__.Traced", "__dict__", "parent")
    assert found(trace(variable("state"), owned("current"), link, link), text) == (
        3,
        "out.parent = state.current",
        "sure",
    )


def test_an_object_that_is_made_anew_is_stored_where_it_is_assigned() -> None:
    text = (
        "class Result:\n    def __init__(self, x):\n        self.loss = x\ndef run(t, x):\n    t.result = Result(x)\n"
    )
    kept = trace(variable("t"), owned("result"), owned("loss", "__main__.Result"))
    assert found(kept, text) == (5, "t.result = Result(x)", "sure")


def test_of_statements_that_fit_the_one_that_runs_in_a_step_stores() -> None:
    text = (
        "def f(t, x, old):\n    if old:\n        t.losses.append(x)\n    else:\n        t.losses.append(x.detach())\n"
    )
    kept = trace(variable("t"), owned("losses"), LIST)
    assert found(kept, text) == (3, "t.losses.append(x)", "unsure")
    assert found(kept, text, ran=(2, 5)) == (5, "t.losses.append(x.detach())", "sure")
    assert found(kept, text, ran=(2, 3, 5)) == (3, "t.losses.append(x)", "unsure")


def test_what_stores_a_number_does_not_store_the_survivor() -> None:
    text = "def f(t, x):\n    t.losses.append(x.item())\n    t.losses.append(x)\n"
    assert found(trace(variable("t"), owned("losses"), LIST), text) == (3, "t.losses.append(x)", "sure")


def test_a_container_that_a_method_hands_out_is_filled_by_its_caller() -> None:
    text = (
        "class Registry:\n    def of(cls, name):\n        return cls.records.setdefault(name, {})\n"
        "def step(n, x):\n    Registry.of('a').setdefault(n, []).append(x)\n"
    )
    held = replace(owned("records", "type"), detail="__main__.Registry")
    kept = trace(variable("Registry"), held, key("a"), LIST)
    assert found(kept, text, 3) == (5, "Registry.of('a').setdefault(n, []).append(x)", "sure")


@pytest.mark.parametrize("name", ["packed", "hooks", "prehooks"])
def test_a_variable_named_like_a_table_of_hooks_in_cpp_is_filled_by_its_append(name: str) -> None:
    text = f"def pack(t):\n    {name}.append(t)\n\nwatch(saved_tensors_hooks(pack, w.register_hook(pack)))\n"
    kept = trace(variable(name), LIST, step("torch.Tensor"))
    assert found(kept, text, 1) == (2, f"{name}.append(t)", "sure")


def test_a_context_variable_whose_tuple_gets_longer_is_stored_by_its_set() -> None:
    text = "def note(x):\n    history.set(history.get() + (x,))\n"
    hops = (Hop("thread", "root", "context"), Hop("hamt", "internal", "contextvar 'history'"))
    root = PathStep("thread", "MainThread", "root", "contextvar 'history'", "root", type="thread", hops=hops)
    kept = trace(root, step("tuple", "item", length=41))
    assert found(kept, text, 1) == (2, "history.set(history.get() + (x,))", "sure")


def test_memory_that_grows_while_a_profiler_records_is_stored_by_the_profiler() -> None:
    text = "prof = torch.profiler.profile()\nprof.start()\n"
    memory = Trace(UNHELD, PROFILED, Lifetime.NEVER, (), (), Ledger(0, ()))
    assert found(memory, text) == (1, "prof = torch.profiler.profile()", "sure")
    assert found(replace(memory, detail="of malloc, which no object has"), text) is None


def test_a_sparse_gradient_gets_longer_at_the_backward_pass() -> None:
    """The line that made the optimizer was named, with the advice to keep its last rows."""
    text = "opt = SparseAdam(emb.parameters())\nfor ids in batches:\n    loss = emb(ids).sum()\n    loss.backward()\n"
    optimizer = attributes("torch.optim.sparse_adam.SparseAdam", "state")
    weight = PathStep("Parameter", "", "python", "grad", "native", type="torch.nn.parameter.Parameter")
    weight = replace(weight, hops=(Hop("", "native", "its C++ object"), Hop("", "native", "grad")))
    sparse = PathStep("SparseTensorImpl", "", "tensor", "part", "native", type="torch::SparseTensorImpl")
    sparse = replace(sparse, hops=(Hop("torch::SparseTensorImpl", "native", "part"),))
    rows = PathStep("TensorImpl", "", "tensor", "", "", type="torch::TensorImpl")
    assert found(trace(variable("opt"), optimizer, weight, sparse, rows), text) == (4, "loss.backward()", "sure")
    assert found(trace(variable("opt"), optimizer, weight, rows), text) == (1, text.splitlines()[0], "sure")
