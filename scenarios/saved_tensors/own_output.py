"""Operations that save their own result, and the leak if the slot owned it."""

from gradlife.scenario import Expect, scenario

NO_RING = "the slot keeps the result's numbers, not the result, so nothing leads from the node back to its owner"


@scenario(
    title="operations that save their own output, dropped without backward",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#25340"],
    pattern="GL301",
    expects=[
        Expect(subject, "del", on="torch-*", because=NO_RING)
        for subject in ("exp", "node of exp", "tanh", "node of tanh", "sqrt", "node of sqrt")
    ],
)
def own_output_without_backward(lab):
    """exp, tanh and sqrt compute their gradient from their own result: how is it kept without a ring?

    y -> (impl) -> grad node -> slot -> ... y? If the slot owned y, this would be a ring in C++, which no collector
    sees: every forward without a backward would leak the result and all that hangs on its graph. So a slot
    that saves an output of its own node keeps a second impl on the same storage, without history: y's numbers, not y.
    Dropping y drops the node, the node its slot, the slot the storage: at once, without gc.

    Switch the engine's `saved_slot` to `owning` and every subject of this story says `never`. The same ring comes
    back in user code as `ctx.y = y`, as a pack hook that returns its argument, and as a view of the output that is
    saved.
    """
    x = lab.tensor(requires_grad=True)
    exp, tanh, sqrt = x.exp(), x.tanh(), x.sqrt()
    lab.watch("exp", exp)
    lab.watch("node of exp", exp.grad_fn)
    lab.watch("tanh", tanh)
    lab.watch("node of tanh", tanh.grad_fn)
    lab.watch("sqrt", sqrt)
    lab.watch("node of sqrt", sqrt.grad_fn)
    lab.stage("forward done")
    del exp, tanh, sqrt
    lab.stage("outputs dropped", all_names_gone=True)


@scenario(
    title="an operation that saves its own output, after backward",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect("gradient", [2.71828, 2.71828, 2.71828, 2.71828], probe="value", because="d exp(x) = exp(x)"),
        Expect("y", "del", on="torch-*"),
        Expect("node", "del", on="torch-*"),
    ],
)
def own_output_after_backward(lab):
    """The saved numbers come back with y's history attached, so that even a second derivative finds its way.

    In backward the slot makes a tensor of the saved numbers and gives it the node as its grad_fn. The node is alive
    (it is running), so nothing dangles; the tensor is gone when the node has computed its gradient.
    """
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    lab.watch("y", y)
    lab.watch("node", y.grad_fn)
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="reductions that save their own result",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#115255"],
    pattern="GL301",
    needs="Tensor.prod Tensor.softmax Tensor.logsumexp",
    expects=[
        Expect(subject, "del", on="torch-*", because=NO_RING) for subject in ("prod", "softmax", "logsumexp", "x")
    ],
)
def reductions_that_save_their_result(lab):
    """prod, softmax and logsumexp: their derivatives divide by, or multiply with, what they computed.

    Results named: each node has its result in one of its slots (prod and logsumexp their input in another one). The rule
    is that of exp: a slot of an output keeps the numbers and not the tensor.

    Results dropped: all goes without backward and without the collector. A pack hook that returns its argument undoes the
    rule for these operations, too (`pack_returns_its_argument`): softmax is the last operation of most models.
    """
    x = lab.tensor(requires_grad=True) * 2
    lab.watch("x", x)
    prod, softmax, logsumexp = x.prod(), x.softmax(0), x.logsumexp(0)
    lab.watch("prod", prod)
    lab.watch("softmax", softmax)
    lab.watch("logsumexp", logsumexp)
    lab.value("softmax", softmax)
    lab.stage("results named")
    del x, prod, softmax, logsumexp
    lab.stage("results dropped", all_names_gone=True)
