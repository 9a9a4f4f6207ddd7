"""Two errors with similar messages: backward freed the buffers, or the node itself is gone."""

from gradlife.scenario import Expect, scenario

FREED = "buffers freed, node alive"
DEAD = "output gone, only grad_fn held"
WEAK = "torch>=1.2,<2.13"
SECOND_TIME = {
    "torch-1.1 torch-1.2": "Trying to backward through the graph a second time, but the buffers have already been "
    "freed. Specify retain_graph=True when calling backward the first time.",
    "torch>=1.10": "Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
    "time or if you need to access saved tensors after calling backward.",
}


def second_time(subject, stage):
    """The error about freed buffers in each release's words; an attempt records 330 characters at most."""
    return [
        Expect(
            subject,
            ("RuntimeError: " + text)[:330],
            probe="value",
            stage=stage,
            on=on,
            because="backward released the saved slot",
        )
        for on, text in SECOND_TIME.items()
    ]


def scaling(lab):
    """A Function y = 2x that saves its input but does not read it in backward."""

    class Scale(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Scale


def works(action):
    """True, or the type of what it raises."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return True


@scenario(
    title="Buffers freed is not node dead",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998"],
    expects=[
        *second_time("saved_tensors with freed buffers", FREED),
        *second_time("saved_tensors of a dead node", DEAD),
        Expect(
            "next_functions with freed buffers",
            True,
            probe="value",
            stage=FREED,
            on="torch-*",
            because="edges survive backward",
        ),
        Expect(
            "backward again",
            True,
            probe="value",
            stage=FREED,
            on="torch-*",
            because="this backward reads nothing that was freed",
        ),
        Expect(
            "next_functions of a dead node",
            "RuntimeError",
            probe="value",
            stage=DEAD,
            on=WEAK,
            because="the weak pointer is empty",
        ),
        Expect(
            "next_functions of a dead node",
            True,
            probe="value",
            stage=DEAD,
            on="torch-*",
            because="the held grad_fn owns its node",
        ),
        Expect(
            "ctx", "alive", probe="expiry", stage=DEAD, on="torch-*", because="the name `node` holds ctx in any case"
        ),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def buffers_freed_is_not_node_dead(lab):
    """One node in three states: whole, with its buffers freed, and dead.

    Buffers freed, node alive: backward ran without retain_graph. The saved slots are empty, so reading `saved_tensors`
    raises; but the node, its edges, its hooks and ctx with its attributes are all there. A second backward works as long
    as no node needs a freed buffer, as here.

    Output gone, only grad_fn held: in PyTorch 1.2 to 2.10 the node dies with its output, and what is held is ctx alone.
    Now `next_functions` raises, and asking for `saved_tensors` gives the words about freed buffers, although it is the
    node that is missing. In 1.1 and 2.13 the held grad_fn owns the node and the answer is the same as before.

    What to learn: "Trying to backward a second time" says that a slot is empty. It does not say that backward ran.
    """
    x = lab.tensor(requires_grad=True)
    y = scaling(lab).apply(x)
    node = y.grad_fn
    y.sum().backward()
    lab.attempt("saved_tensors with freed buffers", lambda: node.saved_tensors)
    lab.value("next_functions with freed buffers", works(lambda: node.next_functions))
    lab.value("backward again", works(lambda: y.sum().backward()))
    lab.stage(FREED)
    del y
    lab.value("next_functions of a dead node", works(lambda: node.next_functions))
    lab.attempt("saved_tensors of a dead node", lambda: node.saved_tensors)
    lab.stage(DEAD)
    del node
    lab.stage("all dropped", all_names_gone=True)


@buffers_freed_is_not_node_dead.fixed(
    title="retain_graph keeps the buffers",
    fix="backward(retain_graph=True) if the saved tensors are needed again",
    expects=[
        Expect("saved_tensors with kept buffers", 1, probe="value", stage="buffers kept", on="torch-*"),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def retain_graph_keeps_the_buffers(lab):
    """The same program asks backward to retain the graph: the slot still has its tensor, and `saved_tensors` answers."""
    x = lab.tensor(requires_grad=True)
    y = scaling(lab).apply(x)
    y.sum().backward(retain_graph=True)
    lab.attempt("saved_tensors with kept buffers", lambda: len(y.grad_fn.saved_tensors))
    lab.stage("buffers kept")
    del y
    lab.stage("all dropped", all_names_gone=True)
