"""Which operations return a new tensor object, and which return the same one."""

from functools import partial

from gradlife.scenario import Expect, scenario


@scenario(
    title="operations that keep the object, and those that make one",
    origin=["pytorch/pytorch#6990", "pytorch/pytorch#55686"],
    needs="Tensor.data_ptr",
    expects=[
        Expect(
            "x.data is x.data", False, probe="value", because="each read makes a detached tensor on the same storage"
        ),
        Expect(
            "x.detach() is x.detach()", False, probe="value", because="each call makes a new impl on the same storage"
        ),
        Expect("same memory", True, probe="value"),
        Expect("x += 1 keeps x", True, probe="value", because="an in-place operation returns its argument"),
        Expect("requires_grad_() keeps x", True, probe="value", because="it sets a flag and returns its argument"),
        Expect("x.data = y keeps x", True, probe="value", because="the impl gets other memory; it is the same impl"),
        Expect("note on x after x.data = y", 5, probe="value", on="torch-*", because="the wrapper was never replaced"),
        Expect("note on x.data", "AttributeError: 'Tensor' object has no attribute 'note'", probe="value"),
    ],
)
def operations_that_make_a_wrapper(lab):
    """Identity belongs to the impl: whatever makes a new impl makes a new object; whatever changes one keeps it.

    `detach()` and `.data` give another impl on the same storage, so another wrapper, without your attributes, at
    each call. In-place operations, `requires_grad_()` and even assigning to `.data` change the impl, so every name,
    attribute and optimizer state that hangs on the object stays valid. That is why optimizers write in place and
    `load_state_dict` copies into parameters instead of replacing them.
    """
    fw = lab.fw
    x = lab.tensor()
    lab.value("x.data is x.data", x.data is x.data)
    lab.value("x.detach() is x.detach()", x.detach() is x.detach())
    lab.attempt("same memory", lambda: x.data.data_ptr() == x.data_ptr())
    lab.attempt("note", partial(setattr, x, "note", 5))
    old = x
    x += 1
    lab.value("x += 1 keeps x", x is old)
    lab.value("requires_grad_() keeps x", x.requires_grad_() is old)
    x.data = fw.zeros(3)
    lab.value("x.data = y keeps x", x is old)
    lab.attempt("note on x after x.data = y", lambda: x.note)
    lab.attempt("note on x.data", lambda: x.data.note)
    lab.stage("asked")


@scenario(
    title="the tensor given to a gradient hook",
    origin=["pytorch/pytorch#11165"],
    pattern="GL201",
    needs="Tensor.data_ptr",
    expects=[
        Expect(
            "note on x.grad",
            "AttributeError: 'Tensor' object has no attribute 'note'",
            probe="value",
            because="x.grad is made from the hook's argument, it is not the argument",
        ),
        Expect("x.grad is the argument", False, probe="value"),
        Expect("same memory", False, probe="value", because="the hook still holds it, so the accumulator copied it"),
    ],
)
def hook_argument_is_not_the_gradient(lab):
    """A hook on a leaf gets a tensor; is it the one that becomes `x.grad`?

    No. The gradient flows through the hook and on to the accumulator, which makes `x.grad` of it: it takes over the
    memory if nobody else owns the tensor, and copies the numbers if somebody does. A hook that kept its argument is
    such a somebody. Marks on the argument are lost; a kept argument is a copy of the gradient's numbers at that
    moment and costs its own memory.
    """
    kept = []

    def keep(grad):
        lab.attempt("note", partial(setattr, grad, "note", 5))
        kept.append(grad)

    x = lab.tensor(requires_grad=True)
    x.register_hook(keep)
    (x * 2).sum().backward()
    lab.attempt("note on x.grad", lambda: x.grad.note)
    lab.value("x.grad is the argument", x.grad is kept[0])
    lab.attempt("same memory", lambda: x.grad.data_ptr() == kept[0].data_ptr())
    lab.stage("asked")
