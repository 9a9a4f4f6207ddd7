"""An exception in a local variable: the exception owns the frame, and the frame owns the exception."""

from gradlife.scenario import Expect, scenario

RING = "frame -> its local `error` -> exception -> traceback -> frame"


def watched_batch(lab):
    """A batch of ones over memory whose death can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch("batch's memory", array)
    return lab.fw.from_numpy(array)


@scenario(
    title="an exception kept in a local variable",
    origin=["pytorch/pytorch#10348"],
    pattern="GL501",
    needs="numpy",
    expects=[
        Expect("batch's memory", "alive", probe="expiry", stage="call returned", because=RING),
        Expect("batch's memory", "gc", because="a ring of Python objects only, which the collector finds"),
    ],
)
def exception_in_a_local(lab):
    """A call fails, catches its own error, and notes it in a local variable to decide about a second try.

    Call returned: `except ... as problem` deletes the name `problem` at the end of its block, for exactly this reason;
    `error = problem` takes the precaution away. The exception owns its traceback, the traceback owns the frame of the
    call, and the frame owns the local that names the exception, and with it every other local: the batch, the
    activations. The call is over and its frame lives.

    Nothing named: nothing is lost, but memory waits for the collector. A retry after "out of memory" runs while the
    batch that did not fit is still there.

    Fix: keep the text, or do the second try after the `except` block and `del error` in a `finally`.
    """

    def call(batch):
        error = None
        try:
            raise RuntimeError("out of memory")
        except RuntimeError as problem:
            error = problem
        return error is None

    lab.value("worked", call(watched_batch(lab)))
    lab.stage("call returned")
    lab.stage("nothing named", all_names_gone=True)


@exception_in_a_local.fixed(
    title="the text of an exception kept in a local variable",
    fix="error = str(problem)",
    expects=[
        Expect("batch's memory", "dead", probe="expiry", stage="call returned", because="the frame went with the call"),
        Expect("batch's memory", "del"),
    ],
)
def text_of_an_exception_in_a_local(lab):
    """The same call keeps the text: the exception goes at the end of its block, the frame at the end of the call."""

    def call(batch):
        error = None
        try:
            raise RuntimeError("out of memory")
        except RuntimeError as problem:
            error = str(problem)
        return error is None

    lab.value("worked", call(watched_batch(lab)))
    lab.stage("call returned")
    lab.stage("nothing named", all_names_gone=True)


@scenario(
    title="a list of failed trials",
    origin=["pytorch/pytorch#10348", "pytorch/pytorch#27600"],
    pattern="GL501",
    needs="numpy",
    expects=[
        Expect("batch's memory", "held", because="list -> exception -> traceback -> frame of the trial -> its batch"),
    ],
)
def failures_kept_as_exceptions(lab):
    """A search over many settings keeps the exceptions of the failed ones for its report.

    Trial failed: the exception's traceback owns all frames from the `try` down to the `raise`. Each frame owns its
    locals: the trial's batch, its activations, its model.

    Report alone: every failed trial stays whole in memory, for the text of one line. Python's collector is no help: all
    of it is reachable.

    Fix: `failures.append(str(error))`, or `traceback.format_exc()` for more.
    """
    failures = []
    lab.hold(failures)

    def trial(batch):
        raise RuntimeError("shapes do not match")

    try:
        trial(watched_batch(lab))
    except RuntimeError as error:
        failures.append(error)
    lab.stage("trial failed")
    del failures
    lab.stage("report alone", all_names_gone=True)


@failures_kept_as_exceptions.fixed(
    title="a list of the texts of failed trials",
    fix="failures.append(str(error))",
    expects=[Expect("batch's memory", "del", because="text refers to no frame")],
)
def failures_kept_as_texts(lab):
    """The same search keeps texts: each trial goes at the end of its `except` block."""
    failures = []
    lab.hold(failures)

    def trial(batch):
        raise RuntimeError("shapes do not match")

    try:
        trial(watched_batch(lab))
    except RuntimeError as error:
        failures.append(str(error))
    lab.stage("trial failed")
    del failures
    lab.stage("report alone", all_names_gone=True)
