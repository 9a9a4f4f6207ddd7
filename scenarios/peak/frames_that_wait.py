"""Frames that do not run and hold tensors at the peak: of a generator that has yielded, of a function that failed."""

from gradlife.scenario import Expect, scenario

COUNT = 64
BYTES = COUNT * 4
PEAK = "live bytes at the peak"


def read_peak(lab, *names):
    """Read the bytes that are alive of some watched tensors, where the release can tell them."""
    found = [lab.bytes_alive(name) for name in names]
    if None not in found:
        lab.value(PEAK, sum(found))


def forward(lab, weight):
    """The output of the step, watched, and what is alive beside it."""
    output = weight * weight
    lab.watch("output", output)
    read_peak(lab, "batch", "output")
    lab.stage("forward done")
    return output


def named_batches(lab):
    """Yields a batch that a variable of the generator holds, too."""
    batch = lab.tensor(COUNT)
    yield batch


def nameless_batches(lab):
    """Yields a batch without a name."""
    yield lab.tensor(COUNT)


def step_on(lab, batches):
    """A step that lets go of its batch before the forward pass reaches its peak."""
    weight = lab.tensor(COUNT, requires_grad=True)
    batch = next(batches)
    lab.watch("batch", batch)
    lab.stage("batch yielded")
    del batch
    output = forward(lab, weight)
    batches.close()
    del weight, output
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="a generator that holds what it has yielded",
    pattern="GL507",
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="the waiting frame holds its variable"),
        Expect("batch", "del"),
    ],
)
def generator_holds_its_batch(lab):
    """`batch = load(); yield batch`: while the consumer computes, the generator's frame holds the batch.

    Forward done: the consumer has deleted its own name, and the batch is alive.

    Fix: `yield load()`.
    """
    step_on(lab, named_batches(lab))


@generator_holds_its_batch.fixed(
    title="a generator that yields without a name",
    fix="yield load()",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*", because="nobody but the consumer holds the batch"),
        Expect("batch", "del"),
    ],
)
def generator_without_a_name(lab):
    """A value that is yielded without a name is the consumer's alone."""
    step_on(lab, nameless_batches(lab))


def attempt(lab):
    """Fails with a batch in its frame; the error."""

    def load():
        batch = lab.tensor(COUNT)
        lab.watch("batch", batch)
        raise ValueError("no batch")

    try:
        load()
    except ValueError as error:
        return error


@scenario(
    title="an error that is kept through the next step",
    origin=["pytorch/pytorch#27600"],
    pattern="GL506",
    expects=[
        Expect(PEAK, 2 * BYTES, probe="value", on="torch-2.*", because="error -> traceback -> frame -> local `batch`"),
        Expect("batch", "del"),
    ],
)
def error_through_the_next_step(lab):
    """`last_error = error`: the error keeps its traceback, and that all frames between raise and except.

    Forward done: the batch of the step that failed is alive while the next one computes.

    Fix: keep `error.with_traceback(None)` or `str(error)`.
    """
    weight = lab.tensor(COUNT, requires_grad=True)
    error = attempt(lab)
    lab.stage("error kept")
    output = forward(lab, weight)
    del error, weight, output
    lab.stage("names gone", all_names_gone=True)


@error_through_the_next_step.fixed(
    title="an error that is kept without its traceback",
    fix="error.with_traceback(None)",
    expects=[
        Expect(PEAK, BYTES, probe="value", on="torch-2.*", because="the frames went with the traceback"),
        Expect("batch", "del"),
    ],
)
def error_without_a_traceback(lab):
    """The same error without its traceback holds no frame."""
    weight = lab.tensor(COUNT, requires_grad=True)
    error = attempt(lab).with_traceback(None)
    lab.stage("error kept")
    output = forward(lab, weight)
    del error, weight, output
    lab.stage("names gone", all_names_gone=True)
