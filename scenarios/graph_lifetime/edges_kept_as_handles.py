"""A GradientEdge kept as a handle owns the node that it names."""

from gradlife.scenario import Expect, scenario

HELD = "only the edge held"


@scenario(
    title="a gradient edge keeps its graph",
    origin=["pytorch/pytorch#127766"],
    pattern="GL411",
    needs="autograd.graph.get_gradient_edge numpy",
    expects=[
        Expect(
            "batch's memory",
            "alive",
            probe="expiry",
            stage=HELD,
            on="torch-2.*",
            because="edge -> node -> slot -> batch",
        ),
        Expect("batch's memory", "del", on="torch-2.*"),
    ],
)
def edge_keeps_its_graph(lab):
    """`edge = get_gradient_edge(y)`, to ask for the gradient at this place later without keeping the activation y.

    Only the edge held: it is a pair of a node and a number, and the node owns what lies behind it: edges, hooks, saved
    tensors. So y's numbers are free, but everything that y was computed from is kept, as by y itself.

    Edge dropped: all goes.

    Fix: keep an edge only until the backward that it is for; backward frees the slots.
    """
    array = lab.fw.ones(4).numpy()
    lab.watch("batch's memory", array)
    y = lab.tensor(requires_grad=True) * lab.fw.from_numpy(array)
    del array
    edge = lab.fw.autograd.graph.get_gradient_edge(y)
    del y
    lab.stage(HELD)
    del edge
    lab.stage("edge dropped", all_names_gone=True)


@edge_keeps_its_graph.fixed(
    title="a gradient edge after its backward",
    fix="run the backward that the edge is for, or drop the edge",
    expects=[
        Expect(
            "batch's memory", "dead", probe="expiry", stage=HELD, on="torch-2.*", because="backward released the slot"
        ),
        Expect("batch's memory", "del", on="torch-2.*"),
    ],
)
def edge_after_its_backward(lab):
    """The same edge once backward has run over it: a node with empty slots."""
    array = lab.fw.ones(4).numpy()
    lab.watch("batch's memory", array)
    y = lab.tensor(requires_grad=True) * lab.fw.from_numpy(array)
    del array
    edge = lab.fw.autograd.graph.get_gradient_edge(y)
    y.sum().backward()
    del y
    lab.stage(HELD)
    del edge
    lab.stage("edge dropped", all_names_gone=True)
