"""A ctx attribute refers to a result computed later from the output: a cycle that the collector does not see."""

from gradlife.scenario import Expect, scenario

HIDDEN = "z owns the node of the sum, whose edge to the Function's node is C++ and shown to no collector in any release"


def doubling(lab):
    """A Function y = 2x."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            lab.watch("ctx", ctx)
            ctx.notes = []
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="ctx keeps a result computed after it",
    origin=["pytorch/pytorch#84711"],
    pattern="GL102",
    needs="ctx_attributes",
    expects=[
        Expect("ctx", "never", on="torch-*", because=HIDDEN),
        Expect("z", "never", on="torch-*", because=HIDDEN),
    ],
)
def ctx_keeps_later_result(lab):
    """A cache written through `y.grad_fn` after the fact: `y.grad_fn.notes.append(z)` where z was computed from y.

    Result cached: z -> grad_fn of the sum -> (C++ edge) -> the Function's node -> ctx -> notes -> z. One step longer than
    keeping the output itself, and that step is what counts.

    Names dropped: PyTorch shows the collector one hop only, from a tensor to the grad_fn that it alone owns, and no edge
    from node to node. So unlike a cycle over the Function's own output this one is lost in every release from 1.1 to
    2.13, and backward does not help, because edges survive backward.

    Fix: keep numbers or detached tensors in caches, never a tensor that has a history.
    """
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    z = y.sum()
    lab.watch("z", z)
    lab.attempt("cache z on ctx", lambda: y.grad_fn.notes.append(z))
    lab.stage("result cached")
    z.backward()
    lab.stage("backward done")
    del y, z
    lab.stage("names dropped", all_names_gone=True)


@ctx_keeps_later_result.fixed(
    title="ctx keeps the detached result",
    fix="cache z.detach() or z.item()",
    expects=[
        Expect("ctx", "del", because="the detached result leads nowhere"),
        Expect("z", "del", on="torch-*"),
    ],
)
def ctx_keeps_later_result_detached(lab):
    """The same cache with `z.detach()` in it: the list on ctx ends at a tensor without a grad_fn, so nothing leads back
    to the node, and dropping the names frees the graph at once."""
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    z = y.sum()
    lab.watch("z", z)
    lab.attempt("cache z on ctx", lambda: y.grad_fn.notes.append(z.detach()))
    lab.stage("result cached")
    z.backward()
    lab.stage("backward done")
    del y, z
    lab.stage("names dropped", all_names_gone=True)
