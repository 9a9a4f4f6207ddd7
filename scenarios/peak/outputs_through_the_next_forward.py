"""Names that hold the output of one forward pass while the next one computes: two outputs are alive at the peak."""

from gradlife.scenario import Expect, scenario

COUNT = 64
BYTES = COUNT * 4  # of one output
PEAK = "live bytes at the peak"


def read_peak(lab, *names):
    """Read the bytes that are alive of some watched tensors, where the release can tell them."""
    found = [lab.bytes_alive(name) for name in names]
    if None not in found:
        lab.value(PEAK, sum(found))


def forward(lab, weight, name):
    """The output of one batch, watched."""
    output = weight * lab.tensor(COUNT)
    lab.watch(name, output)
    return output


@scenario(
    title="the last step's output while the next is computed",
    origin=["allenai/open-instruct#777"],
    pattern="GL409",
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="the name lets go after the right side is done"),
        Expect("first output", "dead", probe="expiry", stage="name bound anew"),
    ],
)
def output_of_the_last_step(lab):
    """`output = model(batch)` in a loop: the right side is computed before the left side lets its old value go.

    Second forward done: both outputs are alive. With logits of a large vocabulary this is a fifth of the peak.

    Fix: `del output` at the end of the step, or compute the step in a function.
    """
    weight = lab.tensor(COUNT, requires_grad=True)
    output = forward(lab, weight, "first output")
    lab.stage("first forward done")
    following = forward(lab, weight, "second output")
    read_peak(lab, "first output", "second output")
    lab.stage("second forward done")
    output = following
    del following
    lab.stage("name bound anew")
    del output, weight
    lab.stage("names gone", all_names_gone=True)


@output_of_the_last_step.fixed(
    title="the last step's output deleted before the next is computed",
    fix="del output at the end of the step",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*", because="one output at a time"),
        Expect("first output", "dead", probe="expiry", stage="second forward done"),
    ],
)
def output_deleted(lab):
    """The same loop lets the output go before it computes the next."""
    weight = lab.tensor(COUNT, requires_grad=True)
    output = forward(lab, weight, "first output")
    lab.stage("first forward done")
    del output
    output = forward(lab, weight, "second output")
    read_peak(lab, "first output", "second output")
    lab.stage("second forward done")
    del output, weight
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="loop variables after the last round",
    origin=["allenai/open-instruct#777"],
    pattern="GL409",
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="a loop's variables outlive the loop"),
        Expect("output", "dead", probe="expiry", stage="names gone"),
    ],
)
def loop_variables(lab):
    """`for batch in loader: output = model(batch)`: after the loop both names still hold what the last round made.

    Evaluation done: what follows, a validation or a checkpoint, has its peak on top of the last batch and output.

    Fix: the loop in a function of its own, or `del batch, output` below it.
    """
    weight = lab.tensor(COUNT, requires_grad=True)
    for batch in [lab.tensor(COUNT)]:
        output = weight * batch
    lab.watch("output", output)
    lab.stage("loop done")
    evaluated = forward(lab, weight, "evaluated")
    read_peak(lab, "output", "evaluated")
    lab.stage("evaluation done")
    del batch, output, evaluated, weight
    lab.stage("names gone", all_names_gone=True)


@loop_variables.fixed(
    title="a loop in a function of its own",
    fix="the loop in a function",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*", because="the function's variables went with its frame"),
        Expect("output", "dead", probe="expiry", stage="loop done"),
    ],
)
def loop_in_a_function(lab):
    """The variables of a function go when it returns."""

    def epoch():
        for batch in [lab.tensor(COUNT)]:
            output = weight * batch
        lab.watch("output", output)

    weight = lab.tensor(COUNT, requires_grad=True)
    epoch()
    lab.stage("loop done")
    evaluated = forward(lab, weight, "evaluated")
    read_peak(lab, "output", "evaluated")
    lab.stage("evaluation done")
    del evaluated, weight, epoch
    lab.stage("names gone", all_names_gone=True)
