"""Log records, caches, pack hooks, gradients with a graph, hooks that use `self`, graphs that nothing walks."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from gradlife.patterns.rewrites.bounded_cache import bounded_cache
from gradlife.patterns.rewrites.grad_with_graph import without_gradient
from gradlife.patterns.rewrites.handed_back import handed_back
from gradlife.patterns.rewrites.hook_argument import with_own_argument
from gradlife.patterns.rewrites.log_text import log_text
from gradlife.patterns.rewrites.numbered_name import with_one_name
from gradlife.patterns.rewrites.pack_hook import packed_without_graph
from gradlife.patterns.rewrites.removed_hook import without_hook_after_use
from gradlife.patterns.rewrites.replaced_head import without_old_groups
from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.unused_graph import without_unused_graph


def new_lines(rewrite: Callable[[Site], str | None], text: str, line: int, name: str = "") -> list[str]:
    tree = ast.parse(text)
    found = rewrite(Site(text, tree, line, name, [tree])) or ""
    return [row.strip() for row in found.splitlines() if row not in text.splitlines()]


def logged(line: str, rest: str = "") -> list[str]:
    return new_lines(log_text, f"def step(log, i, x):\n    {line}\n{rest}", 2)


def test_a_log_record_keeps_the_text_of_what_it_shows() -> None:
    assert logged("log.info('%d%%: %s', i, x)") == ["log.info('%d%%: %s', i, str(x))"]
    wanted = ["log.info('%s', str(x if i else x.shape))"]
    assert logged("log.info('%s', x if i else x.shape)") == wanted


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("log.info('%d', x)", ""),
        ("log.info('%s', x.item())", ""),
        ("log.info(text, x)", ""),
        ("log.info('%s %s', x)", ""),
        ("log.show('%s', x)", ""),
        ("log.info('%s', model.weight)", ""),
        ("log.info('%s', x.grad)", ""),
        ("log.info('%s', x)", "    x = model.weight\n"),
        ("log.info('%s', x)", "    x.add_(1)\n"),
        ("log.info('%s', x)", "    x[0] = 1\n"),
        ("log.info('%s', x)", "    x += 1\n"),
        ("log.info('%s', x)", "class Own(logging.Handler): pass\n"),
    ],
)
def test_no_text_where_the_message_may_differ_or_records_are_looked_into(line: str, rest: str) -> None:
    assert logged(line, rest) == []


def cached(decorator: str, body: str = "return torch.linspace(0, 1, n)", rest: str = "") -> list[str]:
    return new_lines(bounded_cache, f"{decorator}\ndef grid(n):\n    {body}\n{rest}", 1)


@pytest.mark.parametrize(
    ("decorator", "wanted"),
    [
        ("@functools.cache", "@functools.lru_cache(maxsize=8)"),
        ("@functools.lru_cache(maxsize=None)", "@functools.lru_cache(maxsize=8)"),
        ("@lru_cache(None)", "@lru_cache(maxsize=8)"),
    ],
)
def test_a_cache_gets_a_bound(decorator: str, wanted: str) -> None:
    assert cached(decorator) == [wanted]
    assert cached(decorator, "return waves(n)", "def waves(n):\n    '''Sines.'''\n    return n.sin()\n") == [wanted]


@pytest.mark.parametrize(
    "body",
    [
        "return torch.randn(n)",
        "return other(n)",
        "print(n)",
        "t.n = n",
        "return n.add_(1)",
        "yield n",
        "global g; g = n",
    ],
)
def test_no_bound_where_computing_again_may_differ(body: str) -> None:
    assert cached("@functools.cache", body) == []


def test_no_bound_of_a_cache_that_has_one_or_is_asked_for_its_size() -> None:
    assert cached("@functools.lru_cache(maxsize=99)") == []
    assert cached("@cache") == []
    assert cached("@functools.cache", rest="grid.cache_info()\n") == []


PACK = """\
def keep(tensor):
    return tensor

def score(x, pack):
    with torch.autograd.graph.saved_tensors_hooks(pack, keep):
        return x.exp()

score(x, keep)
"""


def test_a_pack_hook_packs_without_the_graph() -> None:
    assert new_lines(packed_without_graph, PACK, 5) == ["return tensor.detach()"]
    named = PACK.replace("hooks(pack,", "hooks(keep,")
    assert new_lines(packed_without_graph, named, 5) == ["return tensor.detach()"]


@pytest.mark.parametrize("rest", ["keep(x)", "score(x, other or keep)", "score(x, pack=keep)", "t.hook = keep"])
def test_a_pack_hook_that_is_used_otherwise_stays(rest: str) -> None:
    assert new_lines(packed_without_graph, f"{PACK}{rest}\n", 5) == []


PENALTY = """\
def step(critic, opt):
    points = real().requires_grad_()
    critic(points).sum().backward(create_graph=True)
    penalty = points.grad.norm()
    penalty.backward()
"""


def test_a_gradient_with_a_graph_is_dropped_after_its_last_use() -> None:
    wanted = PENALTY.replace("norm()\n", "norm()\n    points.grad = None\n")
    tree = ast.parse(PENALTY)
    assert without_gradient(Site(PENALTY, tree, 3, "", [tree])) == wanted


def test_it_is_dropped_before_the_function_returns() -> None:
    text = PENALTY.replace("penalty = points.grad.norm()\n    penalty.backward()", "return (points.grad + 1)")
    wanted = ["result = (points.grad + 1)", "points.grad = None", "return result"]
    assert new_lines(without_gradient, text, 3) == wanted


@pytest.mark.parametrize(
    "line",
    ["return points", "t.points = points", "kept.append(points)", "print(critic.weight.grad)", "f(x=points)"],
)
def test_a_gradient_that_others_may_read_stays(line: str) -> None:
    assert new_lines(without_gradient, f"{PENALTY}    {line}\n", 3) == []
    assert new_lines(without_gradient, f"{PENALTY}def show(p):\n    print(p.grad)\n", 3) == []


HOOK = """\
class Net(nn.Module):
    def __init__(self):
        def scaled(module, args, output):
            return output * self.scale

        self.register_forward_hook({})
"""


def test_a_hook_uses_the_module_that_it_is_given() -> None:
    wanted = "return output * module.scale"
    assert new_lines(with_own_argument, HOOK.format("scaled"), 6) == [wanted]
    assert new_lines(with_own_argument, HOOK.format("scaled if on else other"), 3) == [wanted]
    written = HOOK.format("lambda m, *rest: self.seen(m)")
    assert new_lines(with_own_argument, written, 6) == ["self.register_forward_hook(lambda m, *rest: m.seen(m))"]


def test_a_hook_that_is_called_otherwise_or_copied_stays() -> None:
    assert new_lines(with_own_argument, HOOK.format("scaled") + "        self.hook = scaled\n", 6) == []
    assert new_lines(with_own_argument, HOOK.format("scaled") + "copy.deepcopy(Net())\n", 6) == []
    assert new_lines(with_own_argument, HOOK.replace("self.reg", "self.body.reg").format("scaled"), 6) == []


EXTRACTOR = """\
class Extractor:
    def __init__(self, layer):
        self.seen = {{}}
        self.handle = layer.register_forward_hook(self.capture)

    def capture(self, module, args, output):
        {}

def step(model, x):
    extractor = Extractor(model[1])
    model(x)
    {}
"""
CAPTURE, USE = "self.seen['x'] = output.detach().clone()", "return extractor.seen['x'].mean()"


def removed(capture: str = CAPTURE, use: str = USE, rest: str = "") -> list[str]:
    return new_lines(without_hook_after_use, EXTRACTOR.format(capture, use) + rest, 4)


def test_a_hook_of_an_object_of_one_function_is_removed_after_its_last_use() -> None:
    wanted = ["result = extractor.seen['x'].mean()", "extractor.handle.remove()", "return result"]
    assert removed() == wanted
    assert removed(use="print(extractor.seen)\n    train(model)") == ["extractor.handle.remove()"]


@pytest.mark.parametrize(
    "capture",
    [
        "return output * 2",
        "model.seen = output",
        "self.seen['x'] = make(output)",
        "output.add_(1)",
        "rows.append(output)",
    ],
)
def test_a_hook_that_does_more_than_watch_stays(capture: str) -> None:
    assert removed(capture) == []


@pytest.mark.parametrize("use", ["return extractor", "kept.append(extractor)", "return lambda: extractor.seen"])
def test_a_hook_of_an_object_that_leaves_its_function_stays(use: str) -> None:
    assert removed(use=use) == []


@pytest.mark.parametrize("rest", ["show(Extractor(model))", "other = Extractor", "x.handle.remove()"])
def test_a_hook_of_a_class_that_is_used_elsewhere_or_that_is_removed_stays(rest: str) -> None:
    assert removed(rest=f"{rest}\n") == []


NOTES = """\
def noted(block, x):
    notes = {"input": x.detach()}
    def run(inner):
        notes["mean"] = inner.mean()
        return block(inner)
    notes["output"] = checkpoint(run, x)
    return notes["output"]
"""


def test_a_noted_result_is_handed_back() -> None:
    assert new_lines(handed_back, NOTES, 6) == ['return notes.pop("output")']


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["mean"] = inner.mean()', '["mean"] = notes["output"]'),
        ("return notes", "show(notes)\n    return notes"),
        ('return notes["output"]', 'return notes["input"]'),
        ('    notes["output"] =', '    if x.a: notes["output"] ='),
        ('notes["mean"] =', 'notes.get("output").x ='),
    ],
)
def test_a_noted_result_that_is_asked_for_again_stays(old: str, new: str) -> None:
    assert new_lines(handed_back, NOTES.replace(old, new), 6) == []


UPDATE = "def step(t, x):\n    {}\n    t.params = {}\n"


def unused(value: str, first: str = "g = make(x)", rest: str = "") -> list[str]:
    return new_lines(without_unused_graph, UPDATE.format(first, value) + rest, 3, "params")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("t.params - g", "(t.params - g).detach()"),
        ("{k: p - g[k] for k, p in t.params.items()}", "{k: (p - g[k]).detach() for k, p in t.params.items()}"),
        ("(h, c)", "(h.detach(), c.detach())"),
    ],
)
def test_a_graph_that_no_gradient_is_asked_of_is_dropped(value: str, wanted: str) -> None:
    assert unused(value) == [f"t.params = {wanted}"]
    functional = "from torch.func import grad\ng = grad(loss)(x)\n"
    assert unused(value, rest=functional) == [f"t.params = {wanted}"]


@pytest.mark.parametrize(
    "rest",
    [
        "x.sum().backward()",
        "torch.autograd.grad(x, y)",
        "import lightning",
        "print(t.params.requires_grad)",
        "from torch.autograd.functional import jacobian\njacobian(f, x)",
    ],
)
def test_a_graph_that_a_gradient_may_be_asked_of_stays(rest: str) -> None:
    assert unused("t.params - g", rest=f"{rest}\n") == []


INNER = """\
def step(t, x):
    w = t.params
    grad, = torch.autograd.grad(loss(x, w), w, create_graph=True)
    t.params = w - 0.1 * grad
"""


def test_a_kept_tensor_of_which_alone_gradients_are_asked_becomes_a_leaf_again() -> None:
    wanted = ["t.params = (w - 0.1 * grad).detach().requires_grad_()"]
    assert new_lines(without_unused_graph, INNER, 4, "params") == wanted
    for other in ("print(t.params)", "torch.autograd.grad(x, y)", "def f(w):\n    torch.autograd.grad(x, w)"):
        assert new_lines(without_unused_graph, f"{INNER}{other}\n", 4, "params") == []


LOOP = """\
class Extractor:
    def __init__(self, layer):
        self.seen = None
        self.handle = layer.register_forward_hook(self.capture)

    def capture(self, module, args, output):
        self.seen = output.detach()

for x in batches:
    {}extractor = Extractor(model[1])
    model(x)
    loss = extractor.seen.mean()
    loss.backward()
{}"""


def removed_in_loop(before: str = "", after: str = "") -> list[str]:
    return new_lines(without_hook_after_use, LOOP.format(before, after), 4)


def test_a_hook_of_an_object_of_one_turn_of_a_loop_is_removed_after_its_last_use() -> None:
    assert removed_in_loop() == ["extractor.handle.remove()"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(extractor.seen)\n    ", ""),
        ("if skip(x): continue\n    ", ""),
        ("", "print(extractor.seen)\n"),
        ("", "def show():\n    return extractor\n"),
    ],
)
def test_a_hook_of_an_object_that_outlives_its_turn_stays(before: str, after: str) -> None:
    assert removed_in_loop(before, after) == []


HEADS = """\
net = Net()
opt = {}
for task in tasks:
    net.head = nn.Linear(32, 4)
    opt.add_param_group({{"params": net.head.parameters()}})
    train(net, opt)
{}"""


def dropped(made: str = "torch.optim.Adam(net.parameters(), lr=0.1)", rest: str = "") -> list[str]:
    return new_lines(without_old_groups, HEADS.format(made, rest), 5)


def test_the_groups_of_replaced_heads_are_dropped_before_another_is_added() -> None:
    assert dropped() == [
        "for old in [one for group in opt.param_groups[1:] for one in group['params']]:",
        "opt.state.pop(old, None)",
        "del opt.param_groups[1:]  # of heads that the model no longer has",
    ]


@pytest.mark.parametrize(
    ("place", "loop"),
    [
        ("net.heads[task]", "for task in tasks"),
        ("getattr(net, task)", "for task in tasks"),
        ("net.head", "for net in nets"),
        ("head", "for task in tasks"),
    ],
)
def test_the_groups_stay_if_an_earlier_head_may_be_in_use_at_another_place(place: str, loop: str) -> None:
    source = HEADS.replace("net.head.parameters", f"{place}.parameters").replace("for task in tasks", loop)
    assert new_lines(without_old_groups, source.format("torch.optim.Adam(net.parameters())", ""), 5) == []


def test_the_groups_of_an_item_with_a_fixed_key_are_dropped_too() -> None:
    source = HEADS.replace("net.head", 'net["head"]').format("torch.optim.Adam(net.parameters())", "")
    assert len(new_lines(without_old_groups, source, 5)) == 3


@pytest.mark.parametrize(
    "rest",
    [
        "opt.add_param_group(extra)",
        "print(opt.param_groups)",
        "torch.save(opt.state_dict(), path)",
        "schedule = StepLR(opt, 10)",
        "print(opt.state)",
        "scaler = GradScaler()",
    ],
)
def test_the_groups_stay_where_other_code_may_see_them(rest: str) -> None:
    assert dropped(rest=f"{rest}\n") == []


def test_the_groups_stay_where_the_first_one_is_not_known() -> None:
    assert dropped("torch.optim.SGD([{'params': a}, {'params': b}])") == []
    assert dropped("make(net)") == []


def test_a_method_that_removes_the_hook_and_that_nothing_calls_removes_nothing() -> None:
    close = "    def close(self):\n        self.handle.remove()\n\nfor x in batches:"
    text = LOOP.format("", "").replace("for x in batches:", close)
    assert new_lines(without_hook_after_use, text, 4) == ["extractor.handle.remove()"]
    assert new_lines(without_hook_after_use, text.replace("loss.backward()", "extractor.close()"), 4) == []


NUMBERED = """\
class Net(nn.Module):
    def forward(self, x):
        out = self.layer(x)
        setattr(self, {}, out.detach())
        return out
{}"""


def renamed(name: str = 'f"act_{self.n}"', rest: str = "") -> list[str]:
    return new_lines(with_one_name, NUMBERED.format(name, rest), 4)


def test_an_attribute_with_a_number_that_nothing_reads_gets_one_name() -> None:
    assert renamed() == ['setattr(self, "act_latest", out.detach())  # nothing reads older ones']
    assert renamed(rest="print(net.activation, getattr(net, 'layer'))\n") == renamed()


@pytest.mark.parametrize("value", ["nn.Linear(2, 2)", "nn.Parameter(out)"])
def test_a_numbered_module_or_parameter_keeps_its_name(value: str) -> None:
    assert new_lines(with_one_name, NUMBERED.format('f"act_{self.n}"', "").replace("out.detach()", value), 4) == []
    text = NUMBERED.format('f"act_{self.n}"', "").replace("self.layer(x)", value)
    assert new_lines(with_one_name, text.replace("out.detach()", "out"), 4) == []


@pytest.mark.parametrize(
    "rest",
    [
        "print(net.act_7)",
        "print(getattr(net, name))",
        "print(getattr(net, 'act_3'))",
        "print(vars(net))",
        "torch.save(net, path)",
        "print(net.__dict__)",
        "other = copy.deepcopy(net)",
        "names = ['act_1', 'act_2']",
    ],
)
def test_a_numbered_attribute_that_other_code_may_read_stays(rest: str) -> None:
    assert renamed(rest=f"{rest}\n") == []


def test_a_name_that_may_be_any_stays() -> None:
    assert renamed('f"{prefix}_{n}"') == []
    assert renamed("name") == []


def test_a_line_of_a_method_without_arguments_has_no_hook_to_remove() -> None:
    """It ended the hunt with an IndexError."""
    text = "class Trainer:\n    @staticmethod\n    def step():\n        Trainer.last = loss()\n"
    assert new_lines(without_hook_after_use, text, 4) == []
