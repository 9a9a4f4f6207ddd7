"""A view and its base: who keeps whom, and the cycle that a back reference closes."""

import weakref
from functools import partial

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch>=1.10"


def is_base(view, base):
    """Is this the view's base?"""
    return view._base is base


def note_of_base(view):
    """The attribute on the view's base."""
    return view._base.note


def head_weakly(base, view):
    """Let the base know its view without owning it."""
    base.head = weakref.ref(view)


def shares_memory(one, other):
    """Do two tensors start at the same address?"""
    return one.data_ptr() == other.data_ptr()


@scenario(
    title="a view keeps its base",
    origin=["pytorch/pytorch#3313", "pytorch/pytorch#56017"],
    pattern="GL701",
    expects=[
        Expect("view._base is base", True, probe="value", on="torch-*", because="a view's impl owns its base's impl"),
        Expect(
            "base",
            "dead",
            probe="expiry",
            stage="only the view left",
            on=CACHED,
            because="the base's impl lives on alone",
        ),
        Expect(
            "base", "alive", probe="expiry", stage="only the view left", on=PRESERVING, because="view -> base's impl"
        ),
        Expect("base.storage", "alive", probe="expiry", stage="only the view left", on="torch-2.*"),
        Expect("note of the base", 3, probe="value", on=PRESERVING, because="the wrapper came back with its __dict__"),
        Expect(
            "note of the base",
            "AttributeError: 'Tensor' object has no attribute 'note'",
            probe="value",
            on=CACHED,
            because="_base gave a new wrapper",
        ),
        Expect("base", "del", on="torch-*", because="the view was the last owner"),
    ],
)
def view_keeps_its_base(lab):
    """`view = base[0:2]`, then only `view` is kept. What lives on? The whole of `base`.

    Two owners lead from the view to the memory: view -> storage (every tensor owns its storage whole, not its part
    of it), and view -> base, which autograd needs to know whose history an in-place change of the view rewrites. So
    the base's impl lives, and since torch 1.10 its wrapper with everything on it. Keeping a small view keeps a big
    tensor, its attributes, and the graph behind it. The fix: `clone()` for numbers of your own, `detach()` to share
    memory without the base.
    """
    base = lab.tensor()
    lab.attempt("noted", partial(setattr, base, "note", 3))
    view = base[0:2]
    lab.attempt("view._base is base", partial(is_base, view, base))
    lab.watch("base", base)
    lab.stage("both named")
    del base
    lab.stage("only the view left")
    lab.attempt("note of the base", partial(note_of_base, view))
    del view
    lab.stage("view dropped", all_names_gone=True)


@view_keeps_its_base.fixed(
    title="a clone of a view keeps nothing",
    fix="keep view.clone(): numbers of its own",
    expects=[
        Expect(
            "base", "dead", probe="expiry", stage="only the clone left", because="the clone has a storage and no base"
        ),
        Expect("base.storage", "dead", probe="expiry", stage="only the clone left", on="torch-2.*"),
        Expect("base", "del"),
    ],
)
def clone_of_a_view(lab):
    """A clone has its own storage and, without gradients, no history: the base goes with its last name."""
    base = lab.tensor()
    clone = base[0:2].clone()
    lab.watch("base", base)
    lab.stage("both named")
    del base
    lab.stage("only the clone left")
    lab.value("clone", clone)
    lab.stage("asked", all_names_gone=True)


@scenario(
    title="a base that remembers its view",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#7343"],
    pattern="GL702",
    expects=[
        Expect("base", "del", on=CACHED, because="the view owned the base's impl, not the wrapper with the attribute"),
        Expect(
            "base", "never", on="torch-*", because="base's wrapper -> __dict__ -> view -> (C++) base -> its wrapper"
        ),
        Expect("view", "del", on=CACHED),
        Expect("view", "never", on="torch-*", because="it hangs on the base's __dict__"),
        Expect("base.storage", "never", on="torch-2.*"),
    ],
)
def base_remembers_its_view(lab):
    """`buffer.head = buffer[0:2]`: a tensor that carries a view of itself.

    The wrapper of `base` owns its `__dict__`, the dict the view, and the view's impl owns the base, in C++ where
    the collector cannot look: never freed, not even by gc, and no autograd is involved at all. Up to torch 1.9 the
    view owned only the base's impl, so the wrapper died and took the dict along. The fix: keep views beside their
    base, hold them weakly, or carry `view.detach()`, which shares the memory but knows no base.
    """
    base = lab.tensor()
    view = base[0:2]
    lab.attempt("base.head = view", partial(setattr, base, "head", view))
    lab.watch("base", base)
    lab.watch("view", view)
    lab.stage("tied")
    del base, view
    lab.stage("names gone", all_names_gone=True)


@base_remembers_its_view.fixed(
    title="a base that remembers a detached view",
    fix="base.head = view.detach(): the same memory, and no way back to the base",
    expects=[
        Expect("base", "del", on="torch-*", because="detach() shares the storage and owns no base"),
        Expect("base.storage", "del", on="torch-2.*"),
        Expect("same memory", True, probe="value", on="torch-*"),
    ],
)
def base_remembers_a_detached_view(lab):
    """A detached view is a tensor of its own on the storage: base -> dict -> detached -> storage, no further."""
    base = lab.tensor()
    head = base[0:2].detach()
    lab.attempt("base.head = view.detach()", partial(setattr, base, "head", head))
    lab.attempt("same memory", partial(shares_memory, base, head))
    lab.watch("base", base)
    lab.stage("tied")
    del base, head
    lab.stage("names gone", all_names_gone=True)


@base_remembers_its_view.fixed(
    title="a base that knows its view weakly",
    fix="base.head = weakref.ref(view)",
    expects=[Expect("base", "del", on="torch-*"), Expect("view", "del", on="torch-*")],
)
def base_knows_its_view_weakly(lab):
    """A weak reference to the view: whoever needs the view keeps it, and the base keeps nothing."""
    base = lab.tensor()
    view = base[0:2]
    lab.attempt("base.head = weakref.ref(view)", partial(head_weakly, base, view))
    lab.watch("base", base)
    lab.watch("view", view)
    lab.stage("tied")
    del base, view
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="a view of a view",
    origin=["pytorch/pytorch#3313"],
    expects=[
        Expect(
            "inner._base is base", True, probe="value", on="torch-*", because="the base of a view of a view is the root"
        ),
        Expect(
            "middle", "dead", probe="expiry", stage="base and middle unnamed", because="nobody needs the one in between"
        ),
        Expect(
            "base", "alive", probe="expiry", stage="base and middle unnamed", on=PRESERVING, because="inner owns it"
        ),
        Expect("base", "del", on="torch-*"),
    ],
)
def view_of_a_view(lab):
    """`base[0:3][0:2]`: does the chain of views keep every link?

    No. A view remembers the root of its memory, not the view that it was taken from: inner -> base. The middle
    tensor is only a way to compute offsets and strides; it goes with its name. (With gradients its *node* stays,
    being on the way back, while the tensor goes.)
    """
    base = lab.tensor()
    middle = base[0:3]
    inner = middle[0:2]
    lab.attempt("inner._base is base", partial(is_base, inner, base))
    lab.watch("base", base)
    lab.watch("middle", middle)
    lab.stage("all named")
    del base, middle
    lab.stage("base and middle unnamed")
    del inner
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="detach shares the storage, and nothing else",
    origin=["pytorch/pytorch#6990"],
    expects=[
        Expect("detached._base", None, probe="value", on="torch-*", because="a detached tensor is no view of x"),
        Expect("x", "dead", probe="expiry", stage="only the detached left", because="nothing leads from it to x"),
        Expect(
            "x.storage",
            "alive",
            probe="expiry",
            stage="only the detached left",
            on="torch-2.*",
            because="it owns the storage",
        ),
        Expect(
            "node", "dead", probe="expiry", stage="only the detached left", on="torch-*", because="it has no history"
        ),
        Expect("x", "del"),
        Expect("x.storage", "del", on="torch-2.*"),
    ],
)
def detach_shares_storage_only(lab):
    """Why `detach()` is the cure for most leaks of this catalogue: it owns memory and no objects.

    x -> (impl) -> storage, grad node, attributes. detached -> (another impl) -> the same storage. Keeping the
    detached tensor keeps the numbers and lets go of the graph, the hooks and the `__dict__`. But keep in mind what
    it does keep: the *whole* storage, however small the part that it shows.
    """
    x = lab.tensor(requires_grad=True) * 2
    detached = x.detach()
    lab.attempt("detached._base", lambda: detached._base)
    lab.watch("x", x)
    lab.watch("node", x.grad_fn)
    lab.stage("both named")
    del x
    lab.stage("only the detached left")
    detached = None
    lab.stage("all dropped", all_names_gone=True)
