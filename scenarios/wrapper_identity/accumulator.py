"""The grad accumulator of a leaf: how many there are, what it keeps, and what keeps it."""

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
GRAPH = "only the graph left"
ACCUMULATOR = "only the accumulator left"


class Note:
    """A plain object that can be watched."""


def accumulator_of(product):
    """The node that adds into the leaf's .grad, reached from a product of the leaf."""
    return product.grad_fn.next_functions[0][0]


@scenario(
    title="one accumulator for two graphs",
    origin=["pytorch/pytorch#3818", "pytorch/pytorch#24368"],
    needs="cxx_metadata",
    expects=[
        Expect("same accumulator in both graphs", True, probe="value", because="the leaf remembers a living one"),
        Expect("its variable is the leaf", True, probe="value", because="it owns the leaf's impl, whose wrapper lives"),
        Expect("gradient", [5.0, 5.0, 5.0, 5.0], probe="value"),
    ],
)
def accumulator_is_shared(lab):
    """Two graphs over one leaf end in the same AccumulateGrad node.

    The first use of a leaf makes its accumulator; the edge of the product owns it, and the leaf keeps a weak
    pointer to it. The second use finds it through that pointer. So gradients of both graphs meet in one place, and
    a hook on the accumulator sees both.
    """
    x = lab.tensor(requires_grad=True)
    double, triple = x * 2, x * 3
    accumulator = accumulator_of(double)
    lab.value("same accumulator in both graphs", accumulator_of(triple) is accumulator)
    lab.value("its variable is the leaf", accumulator.variable is x)
    double.sum().backward()
    triple.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("asked")


@scenario(
    title="an accumulator keeps its leaf",
    origin=["pytorch/pytorch#3818", "pytorch/pytorch#24368"],
    needs="cxx_metadata",
    pattern="GL205",
    expects=[
        Expect("x", "dead", probe="expiry", stage=GRAPH, on=CACHED, because="its impl lives, its wrapper does not"),
        Expect(
            "x", "alive", probe="expiry", stage=GRAPH, on="torch-*", because="graph -> accumulator -> impl -> wrapper"
        ),
        Expect("x", "dead", probe="expiry", stage=ACCUMULATOR, on=CACHED),
        Expect("x", "alive", probe="expiry", stage=ACCUMULATOR, on="torch-*", because="the accumulator owns the impl"),
        Expect("numbers through the accumulator", [1.0, 1.0, 1.0, 1.0], probe="value", because="the impl is alive"),
        Expect("x", "del", because="the accumulator was the last owner"),
    ],
)
def accumulator_keeps_its_leaf(lab):
    """Who keeps a parameter alive when the model is gone? Any graph that reaches it, and any accumulator one holds.

    graph -> edge -> AccumulateGrad -> (strongly) the leaf. Drop the leaf's last name: the graph keeps it. Drop the
    graph, but keep the node that `next_functions` gave: the node keeps it alone. A tool that stores nodes to study
    them keeps every parameter of the model. From torch 1.10 on the very wrapper comes back through
    `accumulator.variable`; before, a new one.

    The fix: drop the nodes, or keep names and shapes instead of nodes.
    """
    x = lab.tensor(requires_grad=True)
    product = x * 2
    accumulator = accumulator_of(product)
    lab.watch("x", x)
    lab.stage("all named")
    del x
    lab.stage(GRAPH)
    del product
    lab.stage(ACCUMULATOR)
    lab.value("numbers through the accumulator", accumulator.variable.detach())
    del accumulator
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="a note on an accumulator",
    origin=["pytorch/pytorch#3818", "pytorch/pytorch#107063"],
    needs="cxx_metadata",
    pattern="GL205",
    expects=[
        Expect("note", "alive", probe="expiry", stage="graph alive"),
        Expect(
            "note", "dead", probe="expiry", stage="graph dropped, leaf alive", because="the leaf holds it only weakly"
        ),
        Expect("note", "del"),
    ],
)
def note_on_an_accumulator(lab):
    """Does the leaf keep its accumulator? No: it only points at it weakly.

    A strong pointer would be a ring (leaf -> accumulator -> leaf). So the accumulator, with the hooks and the
    metadata that were put on it, dies with the last graph that ends in it, although the leaf lives on and will get
    a fresh accumulator at its next use. A hook registered once on `next_functions[0][0]` is silently gone after the
    first step.

    The fix: hold the accumulator for as long as what you put on it shall work.
    """
    x = lab.tensor(requires_grad=True)
    product = x * 2
    note = Note()
    accumulator_of(product).metadata["note"] = note
    lab.watch("note", note)
    del note
    lab.stage("graph alive")
    del product
    lab.stage("graph dropped, leaf alive", all_names_gone=True)
    lab.value("leaf", x.detach())
    lab.stage("asked")


@note_on_an_accumulator.fixed(
    title="a note on an accumulator that is held",
    fix="hold the accumulator itself: `accumulator = y.grad_fn.next_functions[0][0]`",
    expects=[
        Expect(
            "note", "alive", probe="expiry", stage="graph dropped, leaf alive", because="a name owns the accumulator"
        ),
        Expect("note through the next graph", True, probe="value", because="the leaf's weak pointer found it alive"),
        Expect("note", "del"),
    ],
)
def note_on_a_held_accumulator(lab):
    """While a name holds the accumulator, the leaf finds it again for the next graph, with everything put on it."""
    x = lab.tensor(requires_grad=True)
    product = x * 2
    accumulator = accumulator_of(product)
    note = Note()
    accumulator.metadata["note"] = note
    lab.watch("note", note)
    del note
    lab.stage("graph alive")
    del product
    lab.stage("graph dropped, leaf alive")
    product = x * 3
    lab.value("note through the next graph", "note" in accumulator_of(product).metadata)
    del product, accumulator
    lab.stage("all dropped", all_names_gone=True)
