"""The effect of zero_grad() on a gradient: its object, its memory, and its other holders."""

from gradlife.scenario import Expect, scenario

NOW = "torch-2.*"
BEFORE = "torch-1.*"


@scenario(
    title="a gradient through an optimizer's step",
    origin=["pytorch/pytorch#92731"],
    pattern="GL603",
    needs="nn.Parameter optim.SGD",
    expects=[
        Expect("same object after step", True, probe="value", on="torch-*", because="step reads it"),
        Expect("None after zero_grad", False, probe="value", on=BEFORE, because="zero_grad filled it with zeros"),
        Expect("None after zero_grad", True, probe="value", on=NOW, because="set_to_none is the default since 2.0"),
        Expect("same object in the next step", True, probe="value", on=BEFORE, because="backward added into the zeros"),
        Expect("same object in the next step", False, probe="value", on=NOW, because="backward made a new tensor"),
        Expect("same object after a second backward", True, probe="value", on="torch-*", because="added in place"),
        Expect("optimizer holds the parameter itself", True, probe="value", on="torch-*"),
    ],
)
def gradient_through_a_step(lab):
    """Is `parameter.grad` one object for the whole training? Up to 1.13 yes, since 2.0 no.

    A name on `parameter.grad`, taken once before the loop (to log its norm, to clip it, to send it), showed each step's
    gradient until 1.13. Since 2.0 `zero_grad()` sets it to None and the next backward makes a new tensor: the old name
    shows the first step's numbers for ever, and keeps their memory.

    Fix: ask for `parameter.grad` in each step.
    """
    parameter = lab.fw.nn.Parameter(lab.tensor())
    optimizer = lab.fw.optim.SGD([parameter], lr=0.1)
    (parameter * 2).sum().backward()
    first = parameter.grad
    optimizer.step()
    lab.value("same object after step", parameter.grad is first)
    optimizer.zero_grad()
    lab.value("None after zero_grad", parameter.grad is None)
    (parameter * 2).sum().backward()
    second = parameter.grad
    lab.value("same object in the next step", second is first)
    (parameter * 2).sum().backward()
    lab.value("same object after a second backward", parameter.grad is second)
    lab.attempt("optimizer holds the parameter itself", lambda: optimizer.param_groups[0]["params"][0] is parameter)
    lab.stage("asked")


def parameter_with_watched_gradient(lab):
    """A parameter whose gradient lies in memory whose death can be watched in every release."""
    parameter = lab.fw.nn.Parameter(lab.tensor())
    array = lab.fw.ones(4).numpy()
    lab.watch("gradient's memory", array)
    parameter.grad = lab.fw.from_numpy(array)
    return parameter


@scenario(
    title="gradients that live through the next forward",
    origin=["pytorch/pytorch#92731", "pytorch/pytorch#44844"],
    pattern="GL603",
    needs="nn.Parameter optim.SGD numpy",
    expects=[
        Expect(
            "gradient's memory",
            "alive",
            probe="expiry",
            stage="next forward",
            on=BEFORE,
            because="zeros need memory, too",
        ),
        Expect(
            "gradient's memory", "dead", probe="expiry", stage="next forward", on=NOW, because="set to None, and freed"
        ),
        Expect("gradient's memory", "del", on="torch-*"),
    ],
)
def gradients_through_the_next_forward(lab):
    """`optimizer.zero_grad()` at the end of a step: are the gradients gone while the next forward builds its activations?

    Up to 1.13 they are filled with zeros: the memory stays, as large as the model, at the very moment of the peak. Since
    2.0 they are freed.

    Fix before 2.0: `zero_grad(set_to_none=True)` (1.7 on), or `p.grad = None` for each parameter. And in every release at
    the end of the step, not before backward: there the activations are on top of last step's gradients.
    """
    parameter = parameter_with_watched_gradient(lab)
    optimizer = lab.fw.optim.SGD([parameter], lr=0.1)
    optimizer.step()
    optimizer.zero_grad()
    loss = (parameter * 2).sum()
    lab.stage("next forward")
    del loss, parameter, optimizer
    lab.stage("dropped", all_names_gone=True)


@gradients_through_the_next_forward.fixed(
    title="gradients taken off at the end of a step",
    fix="p.grad = None for each parameter, at the end of the step",
    expects=[
        Expect(
            "gradient's memory", "dead", probe="expiry", stage="next forward", on="torch-*", because="the leaf let go"
        ),
        Expect("gradient's memory", "del", on="torch-*"),
    ],
)
def gradients_taken_off_after_the_step(lab):
    """The same step in a way that works in every release."""
    parameter = parameter_with_watched_gradient(lab)
    optimizer = lab.fw.optim.SGD([parameter], lr=0.1)
    optimizer.step()
    parameter.grad = None
    loss = (parameter * 2).sum()
    lab.stage("next forward")
    del loss, parameter, optimizer
    lab.stage("dropped", all_names_gone=True)
