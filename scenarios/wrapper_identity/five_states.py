"""One wrapper in five states, as in the proposal of OneFlow issue 9500, one stage each."""

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10 oneflow-0.8"
RESURRECT = "torch>=1.10,<2.10 oneflow-0.9"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


@scenario(
    title="the five states of a wrapper",
    origin=["Oneflow-Inc/oneflow#9500", "Oneflow-Inc/oneflow#9544", "pytorch/pytorch#56017", "pytorch/pytorch#167564"],
    pattern="GL201",
    expects=[
        Expect("grad", "alive", probe="expiry", stage="1 first return"),
        Expect("grad", "alive", probe="expiry", stage="2 second return"),
        Expect("same object", True, probe="value", because="a living wrapper is always found again"),
        Expect("grad", "dead", probe="expiry", stage="3 attempted death", on="torch<1.10"),
        Expect(
            "grad",
            "alive",
            probe="expiry",
            stage="3 attempted death",
            on="torch-*",
            because="its deallocation is called off, or its count never reached zero",
        ),
        Expect(
            "id came back", True, probe="value", on=RESURRECT + " torch-2.*", because="the same wrapper is handed out"
        ),
        Expect("grad", "dead", probe="expiry", stage="5 final death", on="torch-*"),
        Expect("grad", "del", on="torch-*", because="nobody in C++ owns the impl any more, so nobody owns the wrapper"),
        Expect("grad.storage", "del", on="torch-*"),
    ],
)
def five_states_of_a_wrapper(lab):
    """One gradient, followed through every state that its wrapper can be in.

    1 *First return*. `x.grad` makes a wrapper. It holds the impl strongly (`data`), the impl points back at it.
    2 *Second return*. While it lives, the impl's pointer finds it: the same object, one more Python reference.
    3 *Attempted death*. The last Python name goes. The wrapper's deallocator asks: does anybody else own the impl?
      Here x does. So ownership flips: the impl now owns the wrapper (`owns_pyobj`), and the wrapper's `data` is
      emptied, or the two would own each other for ever.
    4 *Returned again*. The impl hands its reference back: `data` is filled, `owns_pyobj` cleared, and the Python
      count is *not* raised, for the reference that the impl held is the one that Python gets.
    5 *Final death*. x drops the impl while it owns the wrapper (or Python drops the wrapper while nobody else owns
      the impl): both go.

    Up to torch 1.9 and OneFlow 0.8 there is no flip: state 3 is the wrapper's end and state 4 a stranger with the
    same numbers. From torch 2.10 on there is no flip either, and no need for one: the impl owns the wrapper exactly
    while somebody else in C++ owns the impl, so 3 and 4 are plain counting. Read the refcount column: with a name
    and x as owners it shows 0 beyond a control where ownership flips, and 1 where the counts are coupled.
    """
    x = leaf_with_grad(lab.fw)
    grad = x.grad
    first = id(grad)
    lab.watch("grad", grad)
    lab.refcount("grad, named", grad)
    lab.stage("1 first return")
    again = x.grad
    lab.value("same object", again is grad)
    lab.stage("2 second return")
    del again, grad
    others = [lab.fw.ones(1) for _ in range(8)]
    lab.stage("3 attempted death")
    grad = x.grad
    lab.value("id came back", id(grad) == first)
    lab.refcount("grad, named again", grad)
    lab.stage("4 returned again")
    x.grad = None
    lab.value("sum after C++ let go", float(grad.sum()))
    del grad
    lab.stage("5 final death", all_names_gone=True)
    del others


@scenario(
    title="the counts of a wrapper in its five states",
    origin=["Oneflow-Inc/oneflow#9500", "pytorch/pytorch#167564"],
    expects=[
        Expect("named once, owned by x", 0, probe="refcount", on=CACHED + " " + RESURRECT),
        Expect(
            "named once, owned by x",
            1,
            probe="refcount",
            because="the impl owns the wrapper as long as another C++ owner than the wrapper exists",
        ),
        Expect("named once, fetched again", 0, probe="refcount", on=CACHED + " " + RESURRECT, because="taken over"),
        Expect("named once, fetched again", 1, probe="refcount"),
        Expect("named once, x let go", 0, probe="refcount", because="back to a single owner: the name"),
    ],
)
def counts_of_a_wrapper(lab):
    """The same life read off one number, the wrapper's Python reference count beyond that of a fresh tensor.

    Borrowed pointer or flipping ownership: a named wrapper has exactly its names, however many owners the impl has
    in C++ (0 beyond the control). Coupled counts: one more while C++ owns it too (1), and the extra one goes at the
    moment when C++ lets go. That extra reference is the whole trick of the newest design: an ordinary reference,
    which weak references, gc and `sys.getrefcount` all understand.
    """
    x = leaf_with_grad(lab.fw)
    grad = x.grad
    lab.refcount("named once, owned by x", grad)
    del grad
    grad = x.grad
    lab.refcount("named once, fetched again", grad)
    x.grad = None
    lab.refcount("named once, x let go", grad)
    lab.stage("counted")
