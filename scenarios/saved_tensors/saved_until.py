"""How long a saved tensor is kept: until backward, until the graph goes, or not at all."""

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch>=1.10"
FREED = {
    "1.1": (
        "RuntimeError: Trying to backward through the graph a second time, but the buffers have already been freed. "
        "Specify retain_graph=True when calling backward the first time."
    ),
    "1.10": (
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
        "have already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
        "need to access saved tensors after calling backward."
    )[:330],
}


@scenario(
    title="an activation, until backward",
    origin=["pytorch/pytorch#60663"],
    expects=[
        Expect(
            "hidden", "dead", probe="expiry", stage="only the slot left", on=CACHED, because="its wrapper is not needed"
        ),
        Expect(
            "hidden", "alive", probe="expiry", stage="only the slot left", on=PRESERVING, because="the slot owns it"
        ),
        Expect(
            "hidden",
            "dead",
            probe="expiry",
            stage="backward done, loss alive",
            on="torch-*",
            because="the slot is empty",
        ),
        Expect("hidden.storage", "alive", probe="expiry", stage="only the slot left", on="torch-2.*"),
        Expect("hidden.storage", "dead", probe="expiry", stage="backward done, loss alive", on="torch-2.*"),
        Expect("second backward", FREED["1.1"], probe="value", on="torch-1.[1-3]"),
        Expect("second backward", FREED["1.10"], probe="value", on="torch>=1.10"),
        Expect("hidden", "del", on="torch-*"),
    ],
)
def activation_until_backward(lab):
    """Who keeps the activations of a forward pass, and when do they go?

    loss -> its grad node -> edge -> node of `sin` -> slot -> hidden. You drop `hidden` at the end of the layer; the
    slot keeps it, since `sin` needs it for its gradient. That is the memory of training. `backward()` empties each
    node's slots right after the node ran, so the activations go one by one while the gradients come; the nodes stay
    as long as the loss, empty: a second backward has nothing to compute from and says so.
    """
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    loss = hidden.sin().sum()
    lab.watch("hidden", hidden)
    lab.stage("forward done")
    del hidden
    lab.stage("only the slot left")
    lab.hold(loss)
    loss.backward()
    lab.stage("backward done, loss alive", all_names_gone=True)
    lab.attempt("second backward", loss.backward)
    lab.stage("backward again")


@scenario(
    title="an activation, kept by retain_graph",
    origin=["pytorch/pytorch#60663"],
    pattern="GL401",
    expects=[
        Expect("hidden.storage", "alive", probe="expiry", stage="backward done, loss alive", on="torch-2.*"),
        Expect("second backward", None, probe="value", because="the slots are still full"),
        Expect("gradient", [1.0806, 1.0806, 1.0806, 1.0806], probe="value", because="cos(1) twice"),
        Expect("hidden", "del", on="torch-*", because="the graph goes with the loss, the slot with the graph"),
    ],
)
def activation_under_retain_graph(lab):
    """`backward(retain_graph=True)` leaves every slot full: a second backward works, and the activations stay.

    They stay for exactly as long as something owns the graph: here the loss. A list of losses kept "for the plot"
    then keeps every activation of every step. The fix: call the last backward without retain_graph, or keep
    `loss.item()`.
    """
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    loss = hidden.sin().sum()
    lab.watch("hidden", hidden)
    del hidden
    loss.backward(retain_graph=True)
    lab.stage("backward done, loss alive")
    lab.attempt("second backward", lambda: loss.backward(retain_graph=True))
    lab.value("gradient", x.grad)
    loss = None
    lab.stage("loss dropped", all_names_gone=True)


@activation_under_retain_graph.fixed(
    title="an activation, given back by the last backward",
    fix="call the last backward without retain_graph",
    expects=[
        Expect("hidden.storage", "dead", probe="expiry", stage="backward done, loss alive", on="torch-2.*"),
        Expect("gradient", [1.0806, 1.0806, 1.0806, 1.0806], probe="value", because="cos(1) twice"),
        Expect("hidden", "del", on="torch-*"),
    ],
)
def activation_given_back(lab):
    """Two backwards, the second of which empties the slots: same gradient, nothing kept by the loss."""
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    loss = hidden.sin().sum()
    lab.watch("hidden", hidden)
    del hidden
    loss.backward(retain_graph=True)
    loss.backward()
    lab.value("gradient", x.grad)
    lab.stage("backward done, loss alive")
    loss = None
    lab.stage("loss dropped", all_names_gone=True)


@scenario(
    title="what an operation does not save",
    origin=["pytorch/pytorch#60663"],
    expects=[
        Expect(
            "summed", "dead", probe="expiry", stage="names dropped, graph alive", because="sum needs only the shape"
        ),
        Expect("shifted", "dead", probe="expiry", stage="names dropped, graph alive", because="+ needs nothing"),
        Expect("scaled", "dead", probe="expiry", stage="names dropped, graph alive", because="* 2 needs only the 2"),
        Expect("summed.storage", "dead", probe="expiry", stage="names dropped, graph alive", on="torch-2.*"),
        Expect(
            "sined", "alive", probe="expiry", stage="names dropped, graph alive", on=PRESERVING, because="sin needs it"
        ),
        Expect("sined.storage", "alive", probe="expiry", stage="names dropped, graph alive", on="torch-2.*"),
        Expect(
            "gradient",
            [5.5403, 5.5403, 5.5403, 5.5403],
            probe="value",
            because="1 + 1 + 2 + cos(1), and 1 of x itself",
        ),
        Expect("sined", "del", on="torch-*"),
    ],
)
def operations_save_what_they_need(lab):
    """A graph does not keep every intermediate result; it keeps what some gradient formula needs.

    sum, + and a product with a number need shapes or the number, so their inputs die with their names while the
    graph lives. sin needs its input. This explains where the memory of a model goes: `x.sin()` costs
    one activation, `x + b` costs none, `x * y` costs both if both need a gradient.
    """
    x = lab.tensor(requires_grad=True)
    summed, shifted, scaled, sined = x * 1, x * 1, x * 1, x * 1
    for name, tensor in (("summed", summed), ("shifted", shifted), ("scaled", scaled), ("sined", sined)):
        lab.watch(name, tensor)
    total = summed.sum() + (shifted + 1).sum() + (scaled * 2).sum() + sined.sin().sum() + x.sum()
    lab.stage("forward done")
    del summed, shifted, scaled, sined, tensor
    lab.stage("names dropped, graph alive")
    total.backward()
    lab.value("gradient", x.grad)
    del total
    lab.stage("graph gone", all_names_gone=True)
