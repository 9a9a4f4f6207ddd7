"""Small programs of modules and their hooks: texts, values, orders, and what a call of a module keeps alive."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from functools import partial
from typing import Any

from programs_tools import attempt, fates, programs_in, values, vector, watch


def linear(fw: Any, rows: int = 2, columns: int = 3, bias: bool = True) -> Any:
    """A linear module whose weights are the same in every framework."""
    module = fw.nn.Linear(columns, rows, bias=bias)
    with fw.no_grad():
        for number, parameter in enumerate(module.parameters()):
            count = parameter.numel()
            parameter.copy_(fw.arange(float(count)).view(parameter.shape) / count - 0.3 * number)
    return module


def warned(function: Any) -> list[str]:
    """Return the result of a call, and the first lines of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(function)
    return [result, *(f"{item.category.__name__}: {str(item.message).splitlines()[0]}" for item in caught)]


def registering_names(fw: Any) -> Any:
    class Plain(fw.nn.Module):  # type: ignore[misc]
        pass

    module = Plain()
    calls = [module.register_parameter, module.register_buffer, module.add_module]
    names: list[Any] = [3, "a.b", "", "training", "fine"]
    return [attempt(partial(call, name, None)) for call in calls for name in names]


def registering_wrong_values(fw: Any) -> Any:
    class Plain(fw.nn.Module):  # type: ignore[misc]
        pass

    module = Plain()
    module.w = fw.nn.Parameter(fw.ones(2))
    module.c = Plain()
    module.register_buffer("b", fw.ones(1))
    return [
        attempt(lambda: module.register_parameter("x", fw.ones(2))),
        attempt(lambda: module.register_parameter("x", 3)),
        attempt(lambda: module.register_buffer("x", 3)),
        attempt(lambda: module.add_module("x", 3)),
        attempt(lambda: setattr(module, "w", 3)),
        attempt(lambda: setattr(module, "w", fw.ones(2))),
        attempt(lambda: setattr(module, "c", 3)),
        attempt(lambda: setattr(module, "b", 3)),
        attempt(lambda: module.nothing),
        attempt(lambda: module(1)),
        attempt(lambda: module.train(1)),
        attempt(lambda: fw.nn.Module(3)),
    ]


def before_the_base_class_was_initialised(fw: Any) -> Any:
    class Early(fw.nn.Module):  # type: ignore[misc]
        def __init__(self, act: Any) -> None:
            act(self)

    parameter = fw.nn.Parameter(fw.ones(1))
    acts = [
        lambda self: setattr(self, "w", parameter),
        lambda self: setattr(self, "m", fw.nn.Linear(1, 1)),
        lambda self: self.register_buffer("b", None),
        lambda self: self.register_parameter("b", None),
        lambda self: self.missing,
    ]
    return [attempt(partial(Early, act)) for act in acts]


def assigning_moves_a_name_between_kinds(fw: Any) -> Any:
    module = linear(fw)

    def kinds() -> list[Any]:
        return [list(module._parameters), list(module._buffers), list(module._modules)]

    seen = [kinds()]
    module.extra = 3
    module.extra = fw.nn.Parameter(fw.ones(1))
    seen.append([*kinds(), ["extra" in module.__dict__]])
    seen.append([attempt(lambda: setattr(module, "extra", fw.nn.Linear(1, 1)))])
    module.extra = None
    module.inner = fw.nn.Linear(1, 1)
    module.inner = fw.nn.Parameter(fw.ones(1))
    seen.append(kinds())
    module.bias = None
    del module.weight
    seen.append(kinds())
    seen.append([attempt(lambda: module.weight), str(module.bias)])
    return seen


def walking_meets_each_once(fw: Any) -> Any:
    inner = linear(fw)
    outer = fw.nn.Sequential(OrderedDict(a=inner, b=fw.nn.ReLU(), again=inner))
    outer.register_buffer("count", fw.zeros(1), persistent=False)
    return [
        [name for name, _ in outer.named_parameters()],
        [name for name, _ in outer.named_parameters(remove_duplicate=False)],
        [name for name, _ in outer.named_parameters(prefix="p", recurse=False)],
        [name for name, _ in outer.named_modules()],
        [name for name, _ in outer.named_modules(remove_duplicate=False)],
        [name for name, _ in outer.named_children()],
        [name for name, _ in outer.named_buffers()],
        list(outer.state_dict()),
        outer.get_submodule("a") is inner,
        attempt(lambda: outer.get_submodule("a.x")),
        attempt(lambda: outer.get_parameter("a.weight.x")),
        attempt(lambda: outer.get_buffer("a.weight")),
    ]


def how_modules_look(fw: Any) -> Any:
    nn = fw.nn
    parts = [
        nn.Linear(2, 3),
        nn.ModuleList([nn.ReLU(True), nn.ReLU(), nn.ReLU()]),
        nn.Sequential(),
        nn.Identity(4, x=2),
    ]
    parts += [nn.Sigmoid()]
    return repr(nn.Sequential(*parts))


def loading_states(fw: Any) -> Any:
    module, state = linear(fw), linear(fw).state_dict()
    wrong = {"weight": fw.ones(3), "x.y": fw.ones(1)}
    return [
        repr(module.load_state_dict(state)),
        attempt(lambda: module.load_state_dict(wrong)),
        repr(module.load_state_dict({"other": 1}, strict=False)),
        attempt(lambda: module.load_state_dict(3)),
        [tensor.requires_grad for tensor in state.values()],
        module.state_dict(keep_vars=True)["weight"] is module.weight,
        state["weight"].data_ptr() == module.state_dict()["weight"].data_ptr(),
        list(module.state_dict(prefix="p.")),
        dict(module.state_dict()._metadata),
    ]


def assigning_states(fw: Any) -> Any:
    module, given = linear(fw), fw.ones(2, 3)
    module.load_state_dict({"weight": given, "bias": fw.ones(2)}, assign=True)
    return [type(module.weight).__name__, module.weight.data_ptr() == given.data_ptr(), module.weight.requires_grad]


def state_hooks_see_their_module(fw: Any) -> Any:
    module, log = linear(fw), []
    module.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(["pre", m is module, prefix, keep]))
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: log.append(["post", list(state)]))
    module.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: log.append(["load", m is module, prefix]))
    module.register_load_state_dict_post_hook(lambda m, keys: log.append(["loaded", list(keys.missing_keys)]))
    module.load_state_dict({k: v for k, v in module.state_dict().items() if k != "bias"}, strict=False)
    return log


def forward_hooks_in_order(fw: Any) -> Any:
    module = fw.nn.Identity()
    log: list[Any] = []

    def note(name: str, result: Any = None) -> Any:
        def hook(*arguments: Any) -> Any:
            log.append([name, str(arguments[1:])])
            return result

        return hook

    module.register_forward_pre_hook(note("pre", 2))
    module.register_forward_pre_hook(note("pre first"), prepend=True)
    module.register_forward_pre_hook(note("pre with kwargs", ((5,), {})), with_kwargs=True)
    module.register_forward_hook(note("post", 7))
    handle = module.register_forward_hook(note("post with kwargs"), with_kwargs=True, always_call=True)
    result = module(1)
    handle.remove()
    flags = [len(module._forward_hooks_with_kwargs), len(module._forward_hooks_always_called)]
    module.register_forward_pre_hook(note("bad", 3), with_kwargs=True)
    return [result, log, flags, attempt(lambda: module(1))]


def a_hook_that_is_always_called(fw: Any) -> Any:
    class Fails(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            raise ValueError("no")

    module, log = Fails(), []
    module.register_forward_hook(lambda *a: log.append("plain"))
    module.register_forward_hook(lambda *a: log.append("always"), always_call=True)
    return [attempt(lambda: module(1)), log]


def hooks_on_every_module(fw: Any) -> Any:
    module, log = linear(fw), []
    every = fw.nn.modules.module
    handles = [
        every.register_module_forward_pre_hook(lambda m, args: log.append("pre")),
        every.register_module_forward_hook(lambda m, args, out: log.append("post")),
        every.register_module_full_backward_pre_hook(lambda m, grad: log.append("backward pre")),
        every.register_module_full_backward_hook(lambda m, given, grad: log.append("backward")),
    ]
    x = vector(fw, 1.0, 2.0, 3.0).view(1, 3)
    module(x).sum().backward()
    for handle in handles:
        handle.remove()
    module(x)
    return log


def full_backward_hooks_see_gradients(fw: Any) -> Any:
    module, log = linear(fw), []
    module.register_full_backward_pre_hook(lambda m, out: log.append(["pre", values(out)]))
    module.register_full_backward_hook(lambda m, given, out: log.append(["post", values(given), values(out)]))
    x = fw.ones(1, 3, requires_grad=True)
    y = module(x)
    y.sum().backward()
    return [log, type(y.grad_fn).__name__, x.grad.tolist()]


def full_backward_hooks_change_gradients(fw: Any) -> Any:
    module = linear(fw)
    module.register_full_backward_pre_hook(lambda m, out: (out[0] * 2,))
    module.register_full_backward_hook(lambda m, given, out: (given[0] * 10,))
    x = fw.ones(1, 3, requires_grad=True)
    module(x).sum().backward()
    return [x.grad.tolist(), module.bias.grad.tolist()]


def full_backward_hooks_that_return_too_much(fw: Any) -> Any:
    def run(register: str) -> str:
        module = linear(fw)
        getattr(module, register)(lambda m, *grads: (grads[0][0], grads[0][0]))
        return attempt(lambda: module(fw.ones(1, 3, requires_grad=True)).sum().backward())

    return [run("register_full_backward_hook"), run("register_full_backward_pre_hook")]


def full_backward_hooks_without_an_input_that_requires_grad(fw: Any) -> Any:
    module, log = linear(fw), []
    module.register_full_backward_hook(lambda m, given, out: log.append([values(given), values(out)]))
    result = warned(lambda: module(fw.ones(1, 3)).sum().backward())
    module.register_full_backward_hook(lambda m, given, out: (fw.ones(1),))
    return [log, result, warned(lambda: module(fw.ones(1, 3)).sum().backward())]


def full_backward_hooks_under_no_grad(fw: Any) -> Any:
    module = linear(fw)
    module.register_full_backward_hook(lambda *grads: None)
    with fw.no_grad():
        return str(module(fw.ones(1, 3)).grad_fn)


def full_backward_hooks_of_several_inputs_and_outputs(fw: Any) -> Any:
    class Both(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, number: int, y: Any) -> Any:
            return x * number, y * 3

    module, log = Both(), []
    module.register_full_backward_hook(lambda m, given, out: log.append([values(given), values(out)]))
    first, second = module(vector(fw), 2, vector(fw, requires_grad=False))
    (first + second).sum().backward()
    return [log, second.requires_grad]


def an_output_changed_in_place_after_a_full_backward_hook(fw: Any) -> Any:
    module = linear(fw)
    module.register_full_backward_hook(lambda *grads: None)
    y = module(fw.ones(1, 3, requires_grad=True))
    return attempt(lambda: y.mul_(2))


def outputs_that_are_no_tensors_with_full_backward_hooks(fw: Any) -> Any:
    class Dict(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return {"x": x * 2}

    module = Dict()
    module.register_full_backward_hook(lambda *grads: None)
    return warned(lambda: module(vector(fw)))


def regular_backward_hooks(fw: Any) -> Any:
    log: list[Any] = []

    class Double(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2

    class Twice(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return (x * 2).sin()

    seen: list[Any] = []
    for kind in (Double, Twice):
        module = kind()
        module.register_backward_hook(lambda m, given, out: log.append([type(m).__name__, len(given), values(out)]))
        seen.append(warned(lambda m=module: m(vector(fw)).sum().backward()))
    seen.append(attempt(lambda: module.register_full_backward_hook(print)))
    module = linear(fw)
    module.register_full_backward_hook(print)
    return [log, seen, attempt(lambda: module.register_backward_hook(print))]


def a_module_dies_with_its_name(fw: Any) -> Any:
    def build() -> list[Any]:
        module = fw.nn.Sequential(linear(fw), fw.nn.ReLU())
        return watch(module, module[0], module[0].weight)

    return fates(build)


def a_module_after_a_call_and_its_output_kept(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        module = linear(fw)
        kept.append(module(fw.ones(1, 3)))
        return watch(module, module.weight, module.bias)

    return fates(build)


def a_module_with_a_full_backward_hook_and_its_output_kept(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        module = linear(fw)
        module.register_full_backward_hook(lambda *grads: None)
        kept.append(module(fw.ones(1, 3, requires_grad=True)))
        return watch(module)

    return fates(build)


def a_full_backward_hook_that_names_its_module(fw: Any) -> Any:
    def build() -> list[Any]:
        module = linear(fw)
        module.register_full_backward_hook(lambda *grads: print(module, end="") if not module.training else None)
        y = module(fw.ones(1, 3, requires_grad=True))
        y.sum().backward()
        return watch(module, y)

    return fates(build)


def a_full_backward_hook_that_names_the_output(fw: Any) -> Any:
    def build() -> list[Any]:
        box: list[Any] = []
        module = linear(fw)
        module.register_full_backward_hook(lambda *grads: box and None)
        box.append(module(fw.ones(1, 3, requires_grad=True)))
        return watch(module, box[0])

    return fates(build)


def a_module_that_keeps_its_output_under_a_full_backward_hook(fw: Any) -> Any:
    def build() -> list[Any]:
        module = linear(fw)
        module.register_full_backward_hook(lambda *grads: None)
        module.kept = module(fw.ones(1, 3, requires_grad=True))
        return watch(module, module.kept)

    return fates(build)


def a_module_that_keeps_its_output(fw: Any) -> Any:
    def build() -> list[Any]:
        module = linear(fw)
        module.kept = module(fw.ones(1, 3))
        return watch(module, module.kept)

    return fates(build)


def a_forward_hook_that_keeps_outputs_on_the_module(fw: Any) -> Any:
    def build() -> list[Any]:
        module = linear(fw)
        module.register_forward_hook(lambda m, args, out: m.__dict__.setdefault("seen", []).append(out) or None)
        module(fw.ones(1, 3))
        return watch(module, module.weight)

    return fates(build)


def a_regular_backward_hook_holds_the_module_weakly(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        module = linear(fw, bias=False)
        module.register_backward_hook(lambda *grads: None)
        kept.append(module(fw.ones(1, 3, requires_grad=True)))
        return watch(module)

    return fates(build)


def gradients_that_full_backward_hooks_saw(fw: Any) -> Any:
    def build() -> list[Any]:
        module, seen = linear(fw), []
        module.register_full_backward_hook(lambda m, given, out: seen.extend(watch(given[0], out[0])))
        y = module(fw.ones(1, 3, requires_grad=True))
        y.sum().backward()
        return seen

    return fates(build)


def a_handle_keeps_nothing(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        module = linear(fw)
        kept.append(module.register_forward_hook(lambda *a: None))
        kept.append(module.register_full_backward_hook(lambda *a: None))
        return watch(module)

    result = fates(build)
    kept[0].remove()
    return result


def zeroing_gradients(fw: Any) -> Any:
    module = linear(fw)
    module(fw.ones(1, 3)).sum().backward()
    gradient = module.weight.grad
    module.zero_grad(set_to_none=False)
    seen = [module.weight.grad is gradient, gradient.tolist(), gradient._version]
    module.zero_grad()
    return [*seen, module.weight.grad]


def containers_refuse(fw: Any) -> Any:
    nn = fw.nn
    sequence, modules = nn.Sequential(nn.ReLU()), nn.ModuleList([nn.ReLU()])
    calls = [
        lambda: sequence[5],
        lambda: sequence.insert(9, nn.ReLU()),
        lambda: sequence.append(3),
        lambda: modules[-3],
        lambda: modules.extend(3),
        lambda: modules(3),
    ]
    return [attempt(call) for call in calls]


def containers_change(fw: Any) -> Any:
    nn = fw.nn
    sequence = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    looks = [repr(sequence[1:]), repr(sequence.pop(0)), repr(sequence)]
    sequence.insert(1, nn.Identity())
    del sequence[-1]
    sequence[0] = nn.ReLU()
    looks.append(repr(sequence.extend([nn.Tanh()])))
    modules = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    modules.insert(0, nn.Identity())
    modules += [nn.ReLU()]
    del modules[1]
    looks.append(repr(modules[0:2]) + repr(modules.pop(-1)) + repr(modules))
    return looks


def a_linear_module(fw: Any) -> Any:
    def nodes(module: Any, x: Any) -> Any:
        node, names = module(x).grad_fn, []
        while node is not None:
            names.append(type(node).__name__)
            node = next((after for after, _ in node.next_functions if after is not None), None)
        return names

    module, bare = fw.nn.Linear(3, 2), fw.nn.Linear(3, 2, bias=False)
    shapes = [fw.ones(3), fw.ones(4, 3), fw.ones(2, 4, 3)]
    return [[nodes(bare, x) for x in shapes], [list(m(x).shape) for m in (module, bare) for x in shapes]]


PROGRAMS = programs_in(globals())
