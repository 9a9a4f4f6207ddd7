"""A loop that keeps the result of its last step: nothing grows, but two steps' activations are alive at once."""

from gradlife.scenario import Expect, scenario

NEXT = "next forward done"


class Loop:
    """A training loop that keeps its last loss for whoever asks."""

    def __init__(self):
        self.loss = None


def forward(lab, weight, name):
    """The loss of one batch whose memory is watched."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return (weight * lab.fw.from_numpy(array)).sum()


@scenario(
    title="the loss of the last step kept through the next forward",
    origin=["Lightning-AI/pytorch-lightning#9336"],
    pattern="GL409",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage=NEXT,
            because="loop.loss -> graph of the step before -> saved batch: two graphs at the peak",
        ),
        Expect(
            "first batch's memory", "dead", probe="expiry", stage="next loss stored", because="the name was overwritten"
        ),
        Expect("second batch's memory", "held", because="the loop is the root, and holds one graph at any time"),
    ],
)
def last_loss_through_the_next_forward(lab):
    """`loop.loss = forward(batch)` in a step without backward: a skipped step, a validation step, a generator's output.

    Next forward done: the right side of an assignment is computed before the left side lets its old value go. While the
    second forward builds its graph, the first one's is still held. The peak is two graphs instead of one, which is what
    decides whether a batch fits; and no list grows, so no growth is ever seen.

    Next loss stored: the first graph goes.

    Fix: `loop.loss = None` (or `del`) before the next forward, or keep `loss.detach()`.
    """
    weight = lab.tensor(requires_grad=True)
    loop = Loop()
    lab.hold(loop)
    loop.loss = forward(lab, weight, "first batch's memory")
    lab.stage("first loss stored")
    loss = forward(lab, weight, "second batch's memory")
    lab.stage(NEXT)
    loop.loss = loss
    del loss
    lab.stage("next loss stored")
    del loop
    lab.stage("loop alone", all_names_gone=True)


@last_loss_through_the_next_forward.fixed(
    title="the loss of the last step taken off before the next forward",
    fix="loop.loss = None at the end of each step",
    expects=[
        Expect("first batch's memory", "dead", probe="expiry", stage=NEXT, because="one graph at the peak"),
        Expect("second batch's memory", "held"),
    ],
)
def last_loss_taken_off(lab):
    """The same loop lets the old loss go before it makes the new one."""
    weight = lab.tensor(requires_grad=True)
    loop = Loop()
    lab.hold(loop)
    loop.loss = forward(lab, weight, "first batch's memory")
    lab.stage("first loss stored")
    loop.loss = None
    loss = forward(lab, weight, "second batch's memory")
    lab.stage(NEXT)
    loop.loss = loss
    del loss
    lab.stage("next loss stored")
    del loop
    lab.stage("loop alone", all_names_gone=True)
