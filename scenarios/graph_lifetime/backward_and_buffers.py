"""Which saved buffers a backward frees: those of the nodes that it ran, unless it retains the graph."""

from gradlife.scenario import Expect, scenario

CLOSURE = "each result's closure holds what it was made of, for as many backwards as there may be"
SECOND_TIME = {
    "torch-1.1 torch-1.2": "Trying to backward through the graph a second time, but the buffers have already "
    "been freed. Specify retain_graph=True when calling backward the first time.",
    "torch>=1.10": "Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
    "second time or if you need to access saved tensors after calling backward.",
}


def watched(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


@scenario(
    title="retain_graph keeps the buffers",
    origin=["pytorch/pytorch#40005"],
    pattern="GL401",
    needs="numpy",
    expects=[
        Expect(
            "batch's memory",
            "alive",
            probe="expiry",
            stage="backward done, loss alive",
            because="the slot was not released",
        ),
        Expect("batch's memory", "del", because="it goes with the loss"),
    ],
)
def retain_graph_keeps_the_batch(lab):
    """`loss.backward(retain_graph=True)`, put there against an error message, and the loss kept for logging.

    Backward done, loss alive: backward left the saved slots alone, so loss -> nodes -> slot -> batch is whole. Without
    the flag the batch would be free by now. Loss dropped: all goes; it is kept too long, not lost.

    Fix: call backward without retain_graph on the last backward of a graph.
    """
    weight = lab.tensor(requires_grad=True)
    loss = (weight * watched(lab, "batch's memory")).sum()
    lab.stage("forward done")
    loss.backward(retain_graph=True)
    lab.stage("backward done, loss alive")
    del loss
    lab.stage("loss dropped", all_names_gone=True)


@retain_graph_keeps_the_batch.fixed(
    title="backward releases the buffers",
    fix="leave retain_graph out",
    expects=[
        Expect(
            "batch's memory",
            "dead",
            probe="expiry",
            stage="backward done, loss alive",
            because="the slot was released when its node had run",
        ),
        Expect("batch's memory", "del"),
        Expect(
            "batch's memory",
            "alive",
            probe="expiry",
            stage="backward done, loss alive",
            on="micrograd",
            because=CLOSURE,
        ),
        Expect("batch's memory", "gc", on="micrograd", because="the loss lies in a cycle with its closure"),
    ],
)
def backward_releases_the_batch(lab):
    """The same step without the flag."""
    weight = lab.tensor(requires_grad=True)
    loss = (weight * watched(lab, "batch's memory")).sum()
    lab.stage("forward done")
    loss.backward()
    lab.stage("backward done, loss alive")
    del loss
    lab.stage("loss dropped", all_names_gone=True)


@scenario(
    title="The first of two backwards frees the shared part",
    origin=["pytorch/pytorch#22983"],
    needs="numpy",
    expects=[
        Expect(
            "shared memory",
            "dead",
            probe="expiry",
            stage="first loss done",
            because="backward ran the shared node and released its slot",
        ),
        Expect("left memory", "dead", probe="expiry", stage="first loss done", because="it belongs to the first loss"),
        Expect("right memory", "alive", probe="expiry", stage="first loss done", because="its node has not been run"),
        *[
            Expect(
                "second backward",
                ("RuntimeError: " + text)[:330],
                probe="value",
                on=on,
                because="the shared slot is empty",
            )
            for on, text in SECOND_TIME.items()
        ],
        Expect("right memory", "del"),
    ],
)
def first_backward_frees_the_shared_part(lab):
    """Two losses over one shared activation, and a backward for each.

    First loss done: backward released what it ran over: the left branch and the shared part. The right branch was not
    run and keeps its buffers. Second backward: the right branch works, but the shared node's slot is empty: the famous
    "Trying to backward through the graph a second time". It says which lifetime was cut short, not that memory leaks.

    Fix: one backward over the sum of both losses, which frees all buffers once; or retain_graph on the first.
    """
    weight = lab.tensor(requires_grad=True)
    shared = weight * watched(lab, "shared memory")
    left = (shared * watched(lab, "left memory")).sum()
    right = (shared * watched(lab, "right memory")).sum()
    del shared
    lab.stage("forward done")
    left.backward()
    lab.stage("first loss done")
    lab.attempt("second backward", lambda: right.backward())
    lab.stage("second loss tried")
    del left, right
    lab.stage("losses dropped", all_names_gone=True)


@first_backward_frees_the_shared_part.fixed(
    title="One backward for both losses",
    fix="(left + right).backward()",
    expects=[
        Expect("shared memory", "dead", probe="expiry", stage="backward done"),
        Expect("right memory", "dead", probe="expiry", stage="backward done"),
        Expect("gradient", [2.0] * 4, probe="value"),
    ],
)
def one_backward_for_both_losses(lab):
    """The same two losses added: each node runs once, each slot is released once, and nothing is asked for twice."""
    weight = lab.tensor(requires_grad=True)
    shared = weight * watched(lab, "shared memory")
    left = (shared * watched(lab, "left memory")).sum()
    right = (shared * watched(lab, "right memory")).sum()
    del shared
    lab.stage("forward done")
    (left + right).backward()
    lab.value("gradient", weight.grad)
    lab.stage("backward done")
    del left, right
    lab.stage("losses dropped", all_names_gone=True)
