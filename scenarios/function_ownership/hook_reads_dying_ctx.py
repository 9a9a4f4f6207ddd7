"""A hook whose __del__ reads its ctx while both are being destroyed."""

from gradlife.scenario import Expect, scenario

DEAD = "names dropped"
WEAK = "torch>=1.2,<2.13"
WHOLE = "finalizers run before anything is cleared: the node is whole and owned by the ctx that the hook holds"
GONE = "the hook dies because the node dies; the weak pointer from ctx to the node is empty by then"


class Hook:
    """A node hook that knows the node and looks at it in its last moment."""

    def __init__(self, node, seen):
        self.node = node
        self.seen = seen

    def __call__(self, *grads):
        return None

    def __del__(self):
        self.seen.append(look(lambda: [type(after).__name__ for after, _ in self.node.next_functions]))
        self.seen.append(look(lambda: self.node.tag))


def look(action):
    """What the action gives, or the type of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__


def tagging(lab):
    """A Function y = 2x with a tag on its ctx."""

    class Tag(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.tag = "tag"
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Tag


@scenario(
    title="A hook's __del__ reads its dying ctx",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#102174"],
    pattern="GL352",
    needs="ctx_attributes",
    expects=[
        Expect(
            "seen by __del__", [["AccumulateGrad"], "tag"], probe="value", on="torch-1.1 torch>=2.13", because=WHOLE
        ),
        Expect("seen by __del__", ["RuntimeError", "tag"], probe="value", on=WEAK, because=GONE),
        Expect(
            "ctx",
            "gc",
            on="torch-1.1 torch>=2.13",
            because="ctx -> node -> hooks -> hook -> ctx, visible once the node has no other owner",
        ),
        Expect(
            "ctx",
            "del",
            on=WEAK,
            because="ctx does not own the node, so there is no cycle: the output's death frees the node, then the hook",
        ),
    ],
)
def hook_reads_dying_ctx(lab):
    """A hook on a custom Function's node holds that node's ctx, and its `__del__` reads from it.

    Hook registered: node -> hook -> ctx, and whether ctx -> node closes the cycle is the question of function ownership.

    PyTorch 1.1 and 2.13: ctx owns the node (embedded, or coupled), so this is a cycle, and the collector frees it
    (`gc`). It calls the finalizers first and clears afterwards, so `__del__` sees everything in place.

    PyTorch 1.2 to 2.10: ctx points back weakly. The output's death frees the node, the node's death frees its hooks, and
    `__del__` runs in the middle of it: the hook keeps ctx and its attributes alive, but the node behind ctx is already
    beyond reach, and `next_functions` raises. An engine that frees the node's memory before it lets go of the hooks
    would read freed memory here.
    """
    seen = []
    y = tagging(lab).apply(lab.tensor(requires_grad=True))
    lab.attempt("register", lambda: type(y.grad_fn.register_hook(Hook(y.grad_fn, seen))).__name__)
    lab.stage("hook registered")
    del y
    lab.stage(DEAD, all_names_gone=True)
    lab.value("seen by __del__", seen)
    lab.stage("collected")


@hook_reads_dying_ctx.fixed(
    title="A hook that does not hold its ctx",
    fix="let the hook work on its arguments only",
    expects=[
        Expect("ctx", "del", on="torch-*", because="no reference from the hook to ctx, no cycle in any release"),
    ],
)
def hook_without_ctx(lab):
    """The same hook without a reference to the node."""
    y = tagging(lab).apply(lab.tensor(requires_grad=True))
    lab.attempt("register", lambda: type(y.grad_fn.register_hook(lambda *grads: None)).__name__)
    lab.stage("hook registered")
    del y
    lab.stage(DEAD, all_names_gone=True)
