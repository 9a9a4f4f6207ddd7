"""The stack of default hooks: nested, left by an exception, popped when empty, per thread, disabled."""

import threading
from functools import partial

from gradlife.scenario import Differs, Expect, scenario

NO_NESTING = (
    "RuntimeError: Setting default hooks but they have already been set. "
    "Hint: only one pair of hooks is allowed at a time."
)


def identity(packed):
    """The hook that changes nothing."""
    return packed


@scenario(
    title="hooks inside hooks",
    origin=["pytorch/pytorch#70134", "pytorch/pytorch#70932"],
    needs="hooks",
    expects=[
        Expect(
            "calls, one operation under each", NO_NESTING, probe="value", on="torch-1.10", because="nested since 1.12"
        ),
        Expect(
            "calls, one operation under each",
            ["pack inner", "pack outer", "unpack outer", "unpack inner"],
            probe="value",
            because="backward runs the last operation first, each slot with the hooks that packed it",
        ),
        Expect("calls, one operation under both", NO_NESTING, probe="value", on="torch-1.10"),
        Expect(
            "calls, one operation under both",
            ["pack inner", "unpack inner"],
            probe="value",
            because="only the innermost pair applies; hooks do not compose",
        ),
    ],
)
def nested_hooks(lab):
    """Two `with` blocks around one operation: are both pairs called?

    No. Default hooks are a stack, and a slot takes the pair on top when it saves. The outer pair is as if absent
    inside the inner block (so checkpointing inside save_on_cpu does not offload what is recomputed). After the
    inner block the outer pair is on top again. Which pair unpacks was decided at packing: the slot owns its own
    references to it.
    """
    log = []

    def pair(name):
        return (
            lambda tensor: (log.append("pack " + name), tensor.detach())[1],
            lambda packed: (log.append("unpack " + name), packed)[1],
        )

    def run(second_operation):
        del log[:]
        x = lab.tensor(requires_grad=True)
        hooks = lab.fw.autograd.graph.saved_tensors_hooks
        with hooks(*pair("outer")):
            with hooks(*pair("inner")):
                y = x.sin()
            if second_operation:
                y = y.sin()
        y.sum().backward()
        return log

    lab.attempt("calls, one operation under each", lambda: run(True))
    lab.attempt("calls, one operation under both", lambda: run(False))
    lab.stage("run")


@scenario(
    title="the stack of hooks, left, emptied and shared out",
    origin=["pytorch/pytorch#62563", "pytorch/pytorch#70932"],
    needs="hooks",
    expects=[
        Expect("made, not entered", 0, probe="value", because="the stack is touched on entering, not before"),
        Expect(
            "left by an exception",
            0,
            probe="value",
            because="the block pops its pair on the way out, whatever the reason",
        ),
        Expect(
            "entered twice",
            1,
            probe="value",
            on="torch-2.*",
            because="the top pair applies once, however often it is there",
        ),
        Expect(
            "in another thread",
            0,
            probe="value",
            because="each thread has a stack of its own, made when first used",
            on="torch-*",
        ),
        Expect(
            "popping an empty stack", "RuntimeError", probe="value", on="torch-2.*", because="an assertion, not a crash"
        ),
        Expect("after it all", 1, probe="value", because="a refused pop leaves the stack in order"),
    ],
)
def stack_of_hooks(lab):
    """How often is `pack` called for one saved tensor, around the edges of the stack?

    The stack belongs to a thread and is made when the thread first needs it. Constructing the context manager does
    nothing; entering pushes, leaving pops, an exception pops as well. A thread started inside the block starts with
    an empty stack, so a worker's forward pass is not packed. Popping what was never pushed is an error that must
    change nothing.
    """
    hooks = lab.fw.autograd.graph.saved_tensors_hooks
    calls = []

    def pack(tensor):
        calls.append(1)
        return tensor.detach()

    def packs(action):
        del calls[:]
        action()
        return len(calls)

    def save():
        lab.tensor(requires_grad=True).sin()

    def leave_by_exception():
        try:
            with hooks(pack, identity):
                raise ValueError("in the block")
        except ValueError:
            save()

    def enter_twice():
        manager = hooks(pack, identity)
        with manager, manager:
            save()

    def in_another_thread():
        with hooks(pack, identity):
            thread = threading.Thread(target=save)
            thread.start()
            thread.join()

    def under_hooks():
        with hooks(pack, identity):
            save()

    unused = hooks(pack, identity)
    lab.value("made, not entered", packs(save))
    lab.value("left by an exception", packs(leave_by_exception))
    lab.attempt("entered twice", lambda: packs(enter_twice))
    lab.value("in another thread", packs(in_another_thread))
    try:
        unused.__exit__(None, None, None)
        lab.value("popping an empty stack", "accepted")
    except Exception as error:
        lab.value("popping an empty stack", type(error).__name__)
    lab.value("after it all", packs(under_hooks))
    lab.stage("run")


@scenario(
    title="hooks where they are disabled",
    origin=["pytorch/pytorch#85553", "pytorch/pytorch#85971"],
    needs="hooks autograd.graph.disable_saved_tensors_hooks",
    expects=[
        Expect("hooks inside disable", "RuntimeError: not here", probe="value", because="the message is the caller's"),
        Expect("disable inside hooks", "RuntimeError: not here", probe="value", because="refused on entering already"),
        Expect("hooks afterwards", "works", probe="value", because="leaving the block allows them again"),
        Expect("hooks", "del", on="mini:torch-1.13", because="the engine gives a refused pair back in every release"),
        Expect("hooks", "never", on="torch-1.13", because="the refused pair's references are never given back"),
        Expect("hooks", "del", because="a refused pair is not kept on the stack"),
    ],
    differs=[
        Differs(
            "hooks",
            between="torch-1.13",
            because="1.13 loses a reference to each callable of a refused pair, and the engine gives it back",
        )
    ],
)
def disabled_hooks(lab):
    """`disable_saved_tensors_hooks("not here")`: a region that cannot work under hooks says so in its own words.

    Pushing a pair inside the region, or entering the region under a pair, raises the given message. The refused
    pair must not stay behind on the stack, nor its references in the thread's state.
    """
    graph = lab.fw.autograd.graph

    class Hooks:
        def pack(self, tensor):
            return tensor.detach()

    hooks = Hooks()
    lab.watch("hooks", hooks)

    def hooks_inside_disable(pack):
        with graph.disable_saved_tensors_hooks("not here"):
            with graph.saved_tensors_hooks(pack, identity):
                return "entered"

    def disable_inside_hooks(pack):
        with graph.saved_tensors_hooks(pack, identity):
            with graph.disable_saved_tensors_hooks("not here"):
                return "entered"

    def hooks_afterwards(pack):
        with graph.saved_tensors_hooks(pack, identity):
            lab.tensor(requires_grad=True).sin()
            return "works"

    for name, run in (
        ("hooks inside disable", hooks_inside_disable),
        ("disable inside hooks", disable_inside_hooks),
        ("hooks afterwards", hooks_afterwards),
    ):
        lab.attempt(name, partial(run, hooks.pack))
    del hooks
    lab.stage("run", all_names_gone=True)
