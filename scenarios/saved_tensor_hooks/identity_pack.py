"""Pack hooks that return their argument: a cycle through the output that the collector does not see."""

from gradlife.scenario import Expect, scenario

EMPTIED = "backward emptied the slot, which was the C++ reference in the ring"


def identity(packed):
    """The unpack hook that undoes nothing."""
    return packed


@scenario(
    title="a pack hook returns its argument, and the operation saves its own output",
    origin=["pytorch/pytorch#115255", "pytorch/pytorch#189025", "pytorch/pytorch#7343"],
    pattern="GL310",
    needs="hooks",
    expects=[
        Expect("y", "never", because="slot -> packed = y itself -> grad node -> slot, all of it in C++"),
        Expect("node", "never", because="y's impl owns it", on="torch-*"),
        Expect("x", "never", on="torch>=1.10", because="the node's edge leads down to the leaf"),
        Expect("input's node", "del", because="an input does not own the node that saves it"),
    ],
)
def pack_returns_its_argument(lab):
    """`saved_tensors_hooks(lambda t: t, lambda t: t)`: the most harmless hooks one can think of leak every step.

    Without hooks a slot that saves its node's own output is careful: it keeps the numbers without the history. With
    hooks it keeps what the pack hook returns, and the hook is given the *live* output, grad_fn and all. Returned as
    it is, it closes the ring that the framework avoids: y -> grad node -> slot -> y. No Python object takes part,
    so gc has nothing to find; only a backward without retain_graph opens it. Forwards that are never followed by a
    backward (evaluation without no_grad, an exception, a skipped batch) lose their whole graph, parameters' leaves
    included.

    An operation that saves its *input* is safe: sin's node owns its input, the input does not own sin's node. The
    fix: return `t.detach()`, which loses nothing, since the slot remembers the history by itself.
    """
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(identity, identity):
        y = x.exp()
        z = (x * 1).sin()
    lab.watch("x", x)
    lab.watch("y", y)
    lab.watch("node", y.grad_fn)
    lab.watch("input's node", z.grad_fn)
    lab.stage("forward done")
    del x, y, z
    lab.stage("names gone", all_names_gone=True)


@pack_returns_its_argument.fixed(
    title="a pack hook returns its argument detached",
    fix="pack with lambda t: t.detach()",
    expects=[
        Expect("y", "del", because="the packed tensor has no history, so the ring is open"),
        Expect("node", "del"),
        Expect("x", "del"),
        Expect("input's node", "del"),
    ],
)
def pack_returns_it_detached(lab):
    """Detached, the packed tensor owns the storage and no history: what a slot without hooks would have kept."""
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), identity):
        y = x.exp()
        z = (x * 1).sin()
    lab.watch("x", x)
    lab.watch("y", y)
    lab.watch("node", y.grad_fn)
    lab.watch("input's node", z.grad_fn)
    lab.stage("forward done")
    del x, y, z
    lab.stage("names gone", all_names_gone=True)


@pack_returns_its_argument.fixed(
    title="a pack hook returns its argument, and backward runs",
    fix="run backward without retain_graph, which empties the slots",
    expects=[
        Expect("y", "del", because=EMPTIED),
        Expect("node", "del", because=EMPTIED),
        Expect("gradient", [2.71828, 2.71828, 2.71828, 2.71828], probe="value"),
    ],
)
def pack_returns_its_argument_backward(lab):
    """A training loop that always runs backward hides the ring: each step opens what its forward closed."""
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(identity, identity):
        y = x.exp()
    lab.watch("y", y)
    lab.watch("node", y.grad_fn)
    lab.stage("forward done")
    y.sum().backward()
    lab.value("gradient", x.grad)
    del y
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="save_on_cpu with tensors that are on the CPU already",
    origin=["pytorch/pytorch#61928", "pytorch/pytorch#189025"],
    pattern="GL310",
    needs="autograd.graph.save_on_cpu",
    expects=[
        Expect("y", "never", because="moving a CPU tensor to the CPU returns it as it is: an identity pack hook"),
        Expect("y.storage", "never", on="torch-2.*"),
    ],
)
def save_on_cpu_without_backward(lab):
    """`save_on_cpu()` is written with pack and unpack hooks. What does it pack on a machine without a GPU?

    `tensor.to("cpu")` of a CPU tensor is the tensor itself. So in tests, on laptops and in CI the pack hook returns
    its argument, and every operation that saves its own output (exp here) makes the ring of
    `pack_returns_its_argument`. Backward opens it; a forward without backward leaks. The fix on such machines: do
    not enter save_on_cpu, or pack by hand with `t.detach().cpu()`.
    """
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    lab.watch("y", y)
    lab.stage("forward done")
    del y
    lab.stage("name gone", all_names_gone=True)


@save_on_cpu_without_backward.fixed(
    title="save_on_cpu, and backward runs",
    fix="run backward without retain_graph, or pack with lambda t: t.detach().cpu()",
    expects=[
        Expect("y", "del", because=EMPTIED),
        Expect("gradient", [5.43656, 5.43656, 5.43656, 5.43656], probe="value", because="2x exp(x*x) at 1"),
    ],
)
def save_on_cpu_with_backward(lab):
    """With the backward that it was made for, save_on_cpu leaves nothing behind."""
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    lab.watch("y", y)
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del y
    lab.stage("name gone", all_names_gone=True)
