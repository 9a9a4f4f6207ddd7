"""A tensor that is saved for a backward pass which does not read it."""

from gradlife.scenario import Expect, scenario

COUNT = 64
BYTES = COUNT * 4
PEAK = "live bytes at the peak"


def read_peak(lab, *names):
    """Read the bytes that are alive of some watched tensors, where the release can tell them."""
    found = [lab.bytes_alive(name) for name in names]
    if None not in found:
        lab.value(PEAK, sum(found))


def run(lab, keeps):
    """One step through a function that makes a mask and noise; ``keeps``: does it save the noise, too?"""

    class Masked(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask, noise = lab.tensor(COUNT), lab.tensor(COUNT)
            lab.watch("mask", mask)
            lab.watch("noise", noise)
            ctx.save_for_backward(*([mask, noise] if keeps else [mask]))
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

    weight = lab.tensor(COUNT, requires_grad=True)
    output = Masked.apply(weight)
    read_peak(lab, "mask", "noise")
    lab.stage("forward done")
    output.sum().backward()
    lab.stage("backward done")
    del weight, output, Masked
    lab.stage("names gone")


@scenario(
    title="a tensor saved for a backward pass that does not read it",
    expects=[
        Expect(
            PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="the graph holds what was saved until it is freed"
        ),
        Expect("noise", "dead", probe="expiry", stage="backward done", on="torch-2.*"),
    ],
)
def saved_and_not_unpacked(lab):
    """`ctx.save_for_backward(mask, noise)`, and a backward that needs the mask only.

    Forward done: both are alive until the backward pass frees the graph. What is never unpacked is memory for nothing.

    Fix: save what backward reads.
    """
    run(lab, keeps=True)


@saved_and_not_unpacked.fixed(
    title="a function that saves what backward reads",
    fix="ctx.save_for_backward(mask)",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*"),
        Expect("noise", "dead", probe="expiry", stage="forward done"),
    ],
)
def saved_as_needed(lab):
    """The noise goes with forward's frame."""
    run(lab, keeps=False)
