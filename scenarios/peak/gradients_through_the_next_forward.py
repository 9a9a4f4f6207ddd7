"""Gradients that the optimizer has read, and that live through the next forward pass."""

from gradlife.scenario import Expect, scenario

COUNT = 64
BYTES = COUNT * 4
PEAK = "live bytes at the peak"


def read_peak(lab, *names):
    """Read the bytes that are alive of some watched tensors, where the release can tell them."""
    found = [lab.bytes_alive(name) for name in names]
    if None not in found:
        lab.value(PEAK, sum(found))


def trained(lab):
    """A weight with the gradient of one step, watched."""
    weight = lab.tensor(COUNT, requires_grad=True)
    (weight * 2).sum().backward()
    lab.watch("gradient", weight.grad)
    lab.stage("step done")
    return weight


def forward(lab, weight):
    """The output of the next step, watched, and what is alive beside it."""
    output = weight * lab.tensor(COUNT)
    lab.watch("output", output)
    read_peak(lab, "gradient", "output")
    lab.stage("next forward done")
    return output


@scenario(
    title="gradients zeroed after the next forward",
    origin=["pytorch/pytorch#92731"],
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="nobody reads the gradient any more"),
        Expect("gradient", "del", on="torch-2.*"),
    ],
)
def late_zero_grad(lab):
    """`zero_grad()` between the forward and the backward pass: the gradients of the step before are there until then.

    Next forward done: the activations stand on top of gradients that the optimizer has read.

    Fix: `zero_grad()` directly after the optimizer's step.
    """
    weight = trained(lab)
    output = forward(lab, weight)
    weight.grad = None
    lab.stage("gradients dropped")
    del weight, output
    lab.stage("names gone", all_names_gone=True)


@late_zero_grad.fixed(
    title="gradients dropped directly after the step",
    fix="zero_grad() directly after the optimizer's step",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*", because="the forward pass has the memory for itself"),
        Expect("gradient", "del", on="torch-2.*"),
    ],
)
def early_zero_grad(lab):
    """The same step drops its gradients when they were read."""
    weight = trained(lab)
    weight.grad = None
    lab.stage("gradients dropped")
    output = forward(lab, weight)
    del weight, output
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="gradients filled with zeros through the next forward",
    origin=["pytorch/pytorch#92731"],
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="zeros take as much memory as gradients"),
        Expect("gradient", "del", on="torch-2.*"),
    ],
)
def gradients_filled_with_zeros(lab):
    """`zero_grad(set_to_none=False)`: the numbers are gone, the memory is not.

    Next forward done: a tensor of zeros is alive, which the backward pass only adds to.

    Fix: `set_to_none=True`, the default since 2.0.
    """
    weight = trained(lab)
    weight.grad.zero_()
    lab.stage("gradients zeroed")
    output = forward(lab, weight)
    del weight, output
    lab.stage("names gone", all_names_gone=True)


@gradients_filled_with_zeros.fixed(
    title="gradients set to None through the next forward",
    fix="set_to_none=True",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*"),
        Expect("gradient", "del", on="torch-2.*"),
    ],
)
def gradients_set_to_none(lab):
    """None takes no memory; the backward pass makes a gradient when it has one."""
    weight = trained(lab)
    weight.grad = None
    lab.stage("gradients dropped")
    output = forward(lab, weight)
    del weight, output
    lab.stage("names gone", all_names_gone=True)
