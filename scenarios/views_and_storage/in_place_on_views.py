"""In-place changes through views: shared version counters and rewritten history."""

from gradlife.scenario import Differs, Expect, scenario

VIEW_OF_LEAF = "1.1 and 1.2 change the view and complain in backward; the engine refuses at once"


@scenario(
    title="version counters of views, detached tensors and .data",
    origin=["pytorch/pytorch#5396", "pytorch/pytorch#6990", "pytorch/pytorch#18223"],
    expects=[
        Expect("fresh [x, view, detached, data]", [0, 0, 0, 0], probe="value", on="torch-*"),
        Expect(
            "after view.add_ [x, view, detached]", [1, 1, 1], probe="value", on="torch-*", because="one counter for all"
        ),
        Expect(
            "after detached.add_ [x, view, detached]",
            [2, 2, 2],
            probe="value",
            on="torch-*",
            because="detach shares it",
        ),
        Expect(
            "after data.add_ [x, data]",
            [2, 1],
            probe="value",
            on="torch-*",
            because=".data starts a counter of its own",
        ),
        Expect("numbers", [4.0, 4.0, 3.0, 3.0], probe="value", because="all four are one memory"),
    ],
)
def version_counters(lab):
    """How does a saved tensor notice a change that was made through another tensor?

    The version counter is an object of its own that tensors *share*: a base, all its views and what `detach()`
    gives of them own one counter together, and each change in place through any of them adds one. So a slot that
    saved `x` notices `x[0:2].add_(1)`. `.data` gives the same memory with a new counter: changes through it go
    unnoticed, on purpose and at your own risk.
    """
    x = lab.tensor()
    view, detached, data = x[0:2], x.detach(), x.data

    def versions(*tensors):
        return [tensor._version for tensor in tensors]

    lab.attempt("fresh [x, view, detached, data]", lambda: versions(x, view, detached, data))
    view.add_(1)
    lab.attempt("after view.add_ [x, view, detached]", lambda: versions(x, view, detached))
    detached.add_(1)
    lab.attempt("after detached.add_ [x, view, detached]", lambda: versions(x, view, detached))
    data.add_(1)
    lab.attempt("after data.add_ [x, data]", lambda: versions(x, data))
    lab.value("numbers", x)
    lab.stage("changed")


@scenario(
    title="a change through a view rewrites history",
    origin=["pytorch/pytorch#3313", "pytorch/pytorch#89812"],
    expects=[
        Expect("base's node before", "MulBackward0", probe="value", on="torch-*"),
        Expect(
            "base has another node", True, probe="value", on="torch-*", because="its numbers now depend on the change"
        ),
        Expect(
            "view has another node",
            True,
            probe="value",
            on="torch-*",
            because="it is rebuilt from the base's new history",
        ),
        Expect(
            "base's first node",
            "alive",
            probe="expiry",
            stage="changed",
            on="torch-*",
            because="the new one leads to it",
        ),
        Expect(
            "gradient",
            [6.0, 6.0, 2.0, 2.0],
            probe="value",
            because="2 through the base, times 3 where the view was",
            on="torch-*",
        ),
        Expect(
            "gradient",
            [2.0, 2.0, 2.0, 2.0],
            probe="value",
            because="there is no way from the view's history to the base's",
            on="oneflow-*",
        ),
        Expect("base's first node", "del", on="torch-*"),
    ],
)
def in_place_on_a_view(lab):
    """`base[0:2].mul_(3)`: the view changed, so the base's history changed too. What happens to the old nodes?

    base -> node of `x * 2`. The change through the view gives the *base* a new node (CopySlices) that applies the
    product to the part and leads on to the old node; base's wrapper and id stay. The view's own node is out of date
    and is rebuilt from the base when somebody asks for it: reading `view.grad_fn` builds a node. Old nodes live as
    long as the new history leads to them.
    """
    x = lab.tensor(requires_grad=True)
    base = x * 2
    view = base[0:2]
    node, view_node = base.grad_fn, view.grad_fn
    lab.attempt("base's node before", lambda: type(base.grad_fn).__name__)
    lab.watch("base's first node", node)
    lab.stage("before")
    view.mul_(3)
    lab.value("base has another node", base.grad_fn is not node)
    lab.value("view has another node", view.grad_fn is not view_node)
    node = view_node = None
    lab.stage("changed")
    base.sum().backward()
    lab.value("gradient", x.grad)
    base = view = None
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="changes in place that are refused",
    origin=["pytorch/pytorch#839"],
    pattern="GL302",
    expects=[
        Expect(
            "leaf",
            "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
            probe="value",
            on="torch-2.*",
            because="its old numbers are what .grad is about",
        ),
        Expect(
            "view of a leaf",
            "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.",
            probe="value",
            on="torch-2.*",
        ),
        Expect("leaf under no_grad", [2.0, 2.0, 2.0, 2.0], probe="value", on="mini:[!o]*"),
        Expect(
            "leaf under no_grad",
            [3.0, 3.0, 2.0, 2.0],
            probe="value",
            on="torch-1.1 torch-1.2 oneflow-*",
            because="changing a view of the leaf was not refused: only a backward through it was",
        ),
        Expect(
            "leaf under no_grad",
            [2.0, 2.0, 2.0, 2.0],
            probe="value",
            because="no history is recorded, so none is wrong",
            on="torch-*",
        ),
        Expect("leaf", "del", because="nothing was tied to it"),
    ],
    differs=[
        Differs("view of a leaf", "value", between="torch-1.[12]", because=VIEW_OF_LEAF),
        Differs("leaf under no_grad", "value", between="torch-1.[12]", because=VIEW_OF_LEAF),
    ],
)
def in_place_on_a_leaf(lab):
    """`weight.add_(1)` on a parameter: refused, since a leaf that got a history would be no leaf any more.

    Were it allowed, the leaf would own a node whose edge leads to its own accumulator, which owns the leaf: a ring
    in C++. The first releases did just that and ran out of memory (issue 839). Under `no_grad` nothing is recorded:
    that is how optimizers write into parameters, keeping the object, its id and its version counter.
    """
    leaf = lab.tensor(requires_grad=True)
    lab.watch("leaf", leaf)
    add = leaf.add_
    lab.attempt("leaf", lambda: add(1))
    add = leaf[0:2].add_
    lab.attempt("view of a leaf", lambda: add(1))
    with lab.fw.no_grad():
        lab.attempt("leaf under no_grad", lambda: leaf.add_(1))
    add = leaf = None
    lab.stage("tried", all_names_gone=True)
