"""grad_fn of a custom Function is ctx itself: one object, however it is reached, for as long as the node lives."""

from gradlife.scenario import Expect, scenario

STAGE = "y alive"
ONE_CTX = "torch-* mini:oneflow-* oneflow-0.9"  # in OneFlow 0.8 forward gets an object of its own
OWNED = "the node owns its one ctx (or is a part of it), so there is no second object to be handed out"


def doubling(lab, contexts):
    """A Function y = 2x that notes the id of its ctx."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            contexts.append(id(ctx))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            contexts.append(id(ctx))
            return grad * 2

    return Double


@scenario(
    title="grad_fn of a Function is its ctx",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect("y.grad_fn.distinct ids", 1, probe="identity", stage=STAGE, on="torch-*", because=OWNED),
        Expect("y.grad_fn.distinct ids apart", 1, probe="identity", stage=STAGE, on="torch-*", because=OWNED),
        Expect("y.grad_fn.is same", True, probe="identity", stage=STAGE, on="torch-*", because=OWNED),
        Expect("y.grad_fn.type", "DoubleBackward", probe="identity", stage=STAGE, on="torch-*"),
        Expect("y.grad_fn.attribute kept", True, probe="identity", stage=STAGE, on="torch-*", because=OWNED),
        Expect("y.grad_fn.weak reference kept", True, probe="identity", stage=STAGE, on="torch-*", because=OWNED),
        Expect("ctx of forward is y.grad_fn", True, probe="value", stage=STAGE, on="torch-*"),
        Expect("reached through z", True, probe="value", stage=STAGE, on="torch-*"),
        Expect("ctx of backward is y.grad_fn", True, probe="value", on="torch-*"),
    ],
)
def grad_fn_is_ctx(lab):
    """The object that forward receives as `ctx`, the one that backward receives, `y.grad_fn`, and what a later node shows
    in `next_functions` are one and the same Python object.

    It can be, because the pair of C++ node and ctx is made once per call: the node owns ctx (1.2 on) or is embedded in it
    (1.1). So ids, attributes, weak references and the type survive although Python holds no name between two reads.
    The wrapper of a C++ node had no such luck until 2.13: it was made anew at each read (see suite wrapper_identity).
    """
    contexts = []
    y = doubling(lab, contexts).apply(lab.tensor(requires_grad=True))
    z = y * 3
    lab.identity("y.grad_fn", lambda: y.grad_fn)
    lab.value("ctx of forward is y.grad_fn", contexts[0] == id(y.grad_fn))
    lab.attempt("reached through z", lambda: z.grad_fn.next_functions[0][0] is y.grad_fn)
    lab.stage(STAGE)
    z.sum().backward()
    lab.value("ctx of backward is y.grad_fn", contexts[1] == id(y.grad_fn))
    lab.stage("backward done")


@scenario(
    title="When ctx dies",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect(
            "ctx", "alive", probe="expiry", stage="y alive", on=ONE_CTX, because="y owns the node, the node owns ctx"
        ),
        Expect(
            "ctx", "alive", probe="expiry", stage="y dropped, z alive", on=ONE_CTX, because="z's node has an edge to it"
        ),
        Expect("ctx", "alive", probe="expiry", stage="only the sum alive", on=ONE_CTX, because="two edges away"),
        Expect(
            "ctx",
            "alive",
            probe="expiry",
            stage="backward done",
            on=ONE_CTX,
            because="backward releases saved tensors, not nodes",
        ),
        Expect(
            "ctx", "dead", probe="expiry", stage="sum dropped", because="the last owner of the chain of nodes is gone"
        ),
        Expect("ctx", "del"),
    ],
)
def ctx_dies_with_the_last_tensor_after_it(lab):
    """A weak reference to ctx, followed through the life of its graph.

    y alive: y -> node -> ctx. y dropped, z alive: z -> node of z -> (edge) -> node -> ctx. Only the sum alive: one edge
    more. Backward done: the edges are still there, so ctx is, too. Sum dropped: the chain goes, and ctx with it, by
    reference counts alone. In short: ctx lives exactly as long as any tensor from which backward could reach it.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(lab.tensor(requires_grad=True))
    lab.stage("y alive")
    z = y * 3
    del y
    lab.stage("y dropped, z alive")
    total = z.sum()
    del z
    lab.stage("only the sum alive")
    total.backward()
    lab.stage("backward done")
    del total
    lab.stage("sum dropped", all_names_gone=True)
