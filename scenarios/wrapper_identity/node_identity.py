"""The Python objects of grad nodes: repeated reads of `y.grad_fn`, and attributes set on it."""

from gradlife.scenario import Expect, scenario

ANEW = "torch<2.13 oneflow-*"


def exp_of_a_leaf(fw):
    """The output of a C++ node over a leaf that has no name."""
    x = fw.ones(3, requires_grad=True)
    return x.exp()


def ids_of_node(fw, y, reads=8):
    """The ids that y.grad_fn has over several reads, while wrappers of other nodes are made and kept in between."""
    ids, others = [], []
    for _ in range(reads):
        ids.append(id(y.grad_fn))
        others.append([exp_of_a_leaf(fw).grad_fn for _ in range(3)])
    return set(ids)


@scenario(
    title="y.grad_fn asked again and again",
    origin=["pytorch/pytorch#179924", "pytorch/pytorch#181390"],
    pattern="GL201",
    expects=[
        Expect("one id over 8 reads", False, probe="value", on=ANEW, because="a node does not own its wrapper"),
        Expect("one id over 8 reads", True, probe="value", because="node and wrapper own each other by coupled counts"),
        Expect("is same while both live", True, probe="value", because="the node points at its living wrapper"),
        Expect(
            "attribute",
            "'ExpBackward' object has no attribute 'note'",
            probe="value",
            on="torch<1.10",
            because="the wrapper of a C++ node has no __dict__",
        ),
        Expect(
            "attribute",
            "'ExpBackward0' object has no attribute 'note'",
            probe="value",
            on="torch-*",
            because="the wrapper of a C++ node has no __dict__",
        ),
        Expect("y.grad_fn.is same", True, probe="identity"),
    ],
)
def node_wrapper_without_a_name(lab):
    """Is `y.grad_fn` one object?

    A C++ node such as ExpBackward0 is made without any Python object. `y.grad_fn` makes a wrapper that owns the
    node. Up to torch 2.10 the node only remembers the wrapper while it lives (so `y.grad_fn is y.grad_fn` holds,
    both being alive at that moment), and the id differs from one statement to the next. On 2.13 the node owns its
    wrapper while anybody else in C++ owns the node, as tensors do since 2.10: the id stays as long as the node.

    Never key anything by `id(y.grad_fn)` without holding the object. Nothing can be written on the wrapper either
    (it has no `__dict__`); the node's `metadata` is the place for notes.
    """
    y = exp_of_a_leaf(lab.fw)
    lab.value("one id over 8 reads", len(ids_of_node(lab.fw, y)) == 1)
    lab.value("is same while both live", y.grad_fn is y.grad_fn)
    try:
        y.grad_fn.note = 1
    except AttributeError as error:
        # Python 3.13 goes on after this: "and no __dict__ for setting new attributes".
        lab.value("attribute", str(error).partition(" and no ")[0])
    lab.identity("y.grad_fn", lambda: y.grad_fn)
    lab.stage("asked")


@node_wrapper_without_a_name.fixed(
    title="y.grad_fn asked again and again, a name kept",
    fix="hold the node that you want to recognise: `node = y.grad_fn`",
    expects=[
        Expect("one id over 8 reads", True, probe="value", because="the living wrapper is found through the node"),
        Expect("y.grad_fn is node", True, probe="value"),
        Expect("node", 0, probe="refcount", on=ANEW, because="only the name owns the wrapper"),
        Expect("node", 1, probe="refcount", because="the node, owned by y, owns it too"),
    ],
)
def node_wrapper_with_a_name(lab):
    """Held by a name the wrapper is one object in every release; its reference count shows how."""
    y = exp_of_a_leaf(lab.fw)
    node = y.grad_fn
    lab.value("one id over 8 reads", ids_of_node(lab.fw, y) == {id(node)})
    lab.value("y.grad_fn is node", y.grad_fn is node)
    lab.refcount("node", node)
    lab.stage("asked")


@scenario(
    title="one node met on two roads",
    origin=["pytorch/pytorch#179924"],
    needs="cxx_metadata",
    expects=[
        Expect("same object on both roads", True, probe="value", because="the node remembers its living wrapper"),
        Expect(
            "note through the other road", 1, probe="value", because="metadata belongs to the node, not to the wrapper"
        ),
        Expect(
            "note after every wrapper went",
            1,
            probe="value",
            because="metadata belongs to the node, not to the wrapper",
        ),
        Expect("note", "never", on="mini:oneflow-*", because="there exp saves its own result by owning it: a ring"),
        Expect("note", "del", because="the note goes with the node, the node with the last tensor of the graph"),
    ],
)
def node_met_on_two_roads(lab):
    """`y.grad_fn` and `z.grad_fn.next_functions[0][0]` are the same node: is it the same object, with the same notes?

    The graph owns its nodes from the root down: z's impl owns the node of the product, whose edge owns the node of
    the exponential. Both roads lead to one C++ node, which hands out its one wrapper. `metadata` is a dict that the
    node itself owns, so it outlives every wrapper and dies with the node. That makes it the place for a note on a
    node, and the lab's own way of seeing when a node dies.
    """

    class Note:
        pass

    y = exp_of_a_leaf(lab.fw)
    z = y * 2
    node = y.grad_fn
    lab.value("same object on both roads", z.grad_fn.next_functions[0][0] is node)
    note = Note()
    node.metadata["k"] = 1
    node.metadata["note"] = note
    lab.watch("note", note)
    del node, note
    lab.value("note after every wrapper went", y.grad_fn.metadata["k"])
    lab.value("note through the other road", z.grad_fn.next_functions[0][0].metadata["k"])
    lab.stage("noted")
    del y
    lab.stage("the graph holds the node")
    del z
    lab.stage("graph gone", all_names_gone=True)
