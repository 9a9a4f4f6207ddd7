"""A subclass of Tensor without any method of its own: what is of its class, and what keeps what alive."""

from gradlife.scenario import Expect, scenario

ASKING = "torch-2.*"
NEEDS = "Tensor.as_subclass"


def names(*tensors):
    """The classes of tensors."""
    return [type(tensor).__name__ for tensor in tensors]


def history(tensor):
    """The nodes from a tensor back to the first leaf."""
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(node.name().replace("torch::autograd::", ""))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


@scenario(
    title="results of operations on a subclass are of its class",
    needs=NEEDS,
    expects=[
        Expect(
            "results", ["Sub"] * 5, probe="value", on=ASKING, because="the default `__torch_function__` converts them"
        ),
        Expect(
            "read back",
            ["Tensor", "Tensor"],
            probe="value",
            on=ASKING,
            because="`.grad` and `._base` stay what they are",
        ),
        Expect(
            "saved",
            ["Sub", "Tensor"],
            probe="value",
            on=ASKING,
            because="an input is saved as it is, an output before it is converted",
        ),
        Expect("result", "del", on=ASKING, because="nothing but its name has it"),
        Expect(
            "computed", "del", on=ASKING, because="the node saved its output as another tensor over the same memory"
        ),
    ],
)
def subclass_results(lab):
    """Which tensors are of the subclass, and which are plain?

    With `class Sub(torch.Tensor)` each operation computes a plain tensor first. The default `__torch_function__` then
    makes an object of the subclass over the same memory, a view that records `AliasBackward0`, and that is what the
    caller gets. So each result is two tensors: the caller's name holds the view, and the view holds the plain one. A
    node that saves its output saves the plain one. A leak report on a model with subclasses shows both.
    """
    fw = lab.fw
    Sub = type("Sub", (fw.Tensor,), {})
    x = fw.ones(3, requires_grad=True).as_subclass(Sub)
    x.retain_grad()
    y = x.exp()
    z = y * x
    z.sum().backward(retain_graph=True)
    lab.value("results", names(x, y, x.detach(), x[0], x.view(3, 1)))
    lab.value("read back", names(x.grad, y._base))
    node = y.grad_fn.next_functions[0][0]
    of_z = z.grad_fn.next_functions[0][0]  # up to 1.8 nodes have no such attributes
    lab.value("saved", names(getattr(of_z, "_saved_other", None), getattr(node, "_saved_result", None)))
    lab.watch("result", z)
    lab.watch("computed", y._base)
    lab.hold(node)
    del node, of_z, x, y, z
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="as_subclass of a leaf records an alias",
    needs=NEEDS,
    expects=[
        Expect("history", ["AliasBackward0", "AccumulateGrad"], probe="value", on=ASKING),
        Expect("is leaf", False, probe="value", on=ASKING, because="the leaf is the tensor that it was made of"),
        Expect("gradient of the leaf", [2.0, 2.0, 2.0], probe="value", on=ASKING, because="it goes past the view"),
        Expect("leaf", "held", on=ASKING, because="its accumulator, and the view whose base it is"),
    ],
)
def subclass_of_a_leaf(lab):
    """Is `leaf.as_subclass(Sub)` a leaf, and where do gradients go?

    It is a view of the leaf. Its `.grad` stays None: the gradient goes to the leaf, of which nobody may have a name any
    more. Whoever holds the subclass tensor holds the leaf and its `.grad` with it. A leaf of a subclass comes from
    `numbers.as_subclass(Sub).requires_grad_()`.
    """
    fw = lab.fw
    Sub = type("Sub", (fw.Tensor,), {})
    leaf = fw.ones(3, requires_grad=True)
    x = leaf.as_subclass(Sub)
    lab.value("history", history(x))
    lab.value("is leaf", x.is_leaf)
    fw.autograd.backward((x * 2).sum())
    lab.value("gradient of the leaf", leaf.grad)
    lab.watch("leaf", leaf)
    lab.hold(x)
    del leaf, x
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="a result of a subclass, changed in place",
    needs=NEEDS,
    expects=[
        Expect("returned itself", True, probe="value", on=ASKING),
        Expect("before", ["AliasBackward0", "MulBackward0", "AccumulateGrad"], probe="value", on=ASKING),
        Expect(
            "after",
            ["AsStridedBackward0", "CopySlices", "MulBackward0", "AccumulateGrad"],
            probe="value",
            on=ASKING,
            because="the result is a view, so its base gets the new history",
        ),
        Expect(
            "alias before the change",
            "alive",
            probe="expiry",
            stage="changed",
            on=ASKING,
            because="CopySlices holds the addition, whose edge leads to it",
        ),
        Expect("plain tensor behind it", "held", on=ASKING, because="the base of the view"),
    ],
)
def subclass_changed_in_place(lab):
    """What does `y.add_(1)` do to the graph, where `y` is a result of a subclass?

    The result is a view of the plain tensor that was computed. A change in place through a view rewrites the history of
    its base: `CopySlices` takes the place of the base's node, and the view gets a new one. The alias node
    stays behind the addition that `CopySlices` replays, where no gradient passes: hooks on it no longer run.
    """
    fw = lab.fw
    Sub = type("Sub", (fw.Tensor,), {})
    x = fw.ones(3).as_subclass(Sub).requires_grad_()
    y = x * 2
    lab.value("before", history(y))
    lab.watch("alias before the change", y.grad_fn)
    lab.value("returned itself", y.add_(1) is y)
    lab.value("after", history(y))
    lab.stage("changed")
    lab.watch("plain tensor behind it", y._base)
    lab.hold(y)
    del x, y
    lab.stage("names dropped", all_names_gone=True)
