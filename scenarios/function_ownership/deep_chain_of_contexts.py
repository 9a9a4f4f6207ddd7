"""A long chain of Functions, linked by C++ edges and by an attribute of each ctx."""

from gradlife.scenario import Expect, scenario

DEPTH = 400


@scenario(
    title="A chain of contexts, each with its input",
    origin=["pytorch/pytorch#5534", "pytorch/pytorch#25340"],
    pattern="GL103",
    needs="ctx_attributes",
    expects=[
        Expect("contexts alive, chain named", DEPTH, probe="value"),
        Expect("contexts alive, chain dropped", 0, probe="value", because="no cycle: all of it goes, link by link"),
    ],
)
def deep_chain_of_contexts(lab):
    """`ctx.x = x` in each Function of a recurrence.

    Chain named: the last output -> node -> ctx -> `ctx.x` -> the output before -> its node, and so on; beside it the C++
    chain of edges. The attribute keeps every intermediate result until the end; `save_for_backward` would have given them
    back in backward.

    Chain dropped: there is no cycle, so reference counts do. Freed naively it is a recursion through Python
    deallocators and C++ destructors in turn; PyTorch's deep chains survive it (the interpreter's trashcan catches the
    Python half), OneFlow 0.9 runs out of stack at 50,000 links. On interpreters before 3.9 the trashcan parks what is left
    until the next container goes, so the story drops one before it counts.
    """
    alive = []

    class Life:
        def __init__(self):
            alive.append(None)

        def __del__(self):
            alive.pop()

    class Step(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.life = Life()
            ctx.x = x
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    y = lab.tensor(1, requires_grad=True)
    for _ in range(DEPTH):
        y = Step.apply(y)
    lab.value("contexts alive, chain named", len(alive))
    lab.stage("chain named")
    del y
    parked = [[[]]]
    del parked
    lab.collect()
    lab.value("contexts alive, chain dropped", len(alive))
    lab.stage("chain dropped")
