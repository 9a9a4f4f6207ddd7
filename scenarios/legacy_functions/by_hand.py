"""What a legacy instance checks before it runs: the arguments of its call, and those of `_do_backward`."""

from gradlife.scenario import Expect, scenario

OLD = "torch-1.1 torch-1.2"
COMBINATION = (
    "TypeError: _do_backward received an invalid combination of arguments - got ({}), but expected (tuple, bool)"
)
EXTENDING = "extending.html#extending-torch-autograd"


def identity_legacy(lab):
    """A Function in the old style, y = x * 1 for each of its inputs."""

    class Id(lab.fw.autograd.Function):
        def forward(self, *inputs):
            outputs = tuple(x * 1 for x in inputs)
            return outputs if len(outputs) > 1 else outputs[0]

        def backward(self, *grads):
            return grads if len(grads) > 1 else grads[0]

    return Id


def called(lab, count=1):
    """A legacy instance, and its outputs, which keep its node alive."""
    f = identity_legacy(lab)()
    return f, f(*(lab.tensor(2, requires_grad=True) for _ in range(count)))


@scenario(
    title="_do_backward called by hand",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect("one gradient", [[1.0] * 2], probe="value", on=OLD),
        Expect(
            "two gradients for one output",
            "RuntimeError: Id got an invalid number of gradients (expected 1 got 2)",
            probe="value",
            on=OLD,
        ),
        Expect("one argument", "RuntimeError: _do_backward expects exactly two arguments", probe="value", on=OLD),
        Expect("a list", COMBINATION.format("!list!, bool"), probe="value", on=OLD),
        Expect("a number as the flag", COMBINATION.format("tuple, !int!"), probe="value", on=OLD),
        Expect(
            "None for the first of two",
            [[0.0] * 2, [1.0] * 2],
            probe="value",
            on=OLD,
            because="a gradient that is missing is made of zeros",
        ),
    ],
)
def legacy_backward_by_hand(lab):
    """`f._do_backward((grad,), True)`: what the engine calls in backward, open to everybody, runs C++ code on a node.

    So it has to check what it is given: that there is a node (see `legacy_instance_without_its_graph`), that there are two
    arguments of the right types, and one gradient for each output. The texts are those of the releases.
    """
    f, output = called(lab)
    grad = lab.tensor(2)
    lab.attempt("one gradient", lambda: list(f._do_backward((grad,), True)))
    lab.attempt("two gradients for one output", lambda: f._do_backward((grad, grad), True))
    lab.attempt("one argument", lambda: f._do_backward((grad,)))
    lab.attempt("a list", lambda: f._do_backward([grad], True))
    lab.attempt("a number as the flag", lambda: f._do_backward((grad,), 1))
    f, output = called(lab, 2)
    lab.attempt("None for the first of two", lambda: list(f._do_backward((None, grad), True)))
    lab.stage("called by hand")
    del output


@scenario(
    title="A legacy instance called with something that is no tensor",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(what, "RuntimeError: expected a Variable argument, but got " + kind, probe="value", on=OLD)
        for what, kind in (("a number", "int"), ("None", "NoneType"), ("a list of tensors", "list"))
    ],
)
def legacy_call_with_a_number(lab):
    """Legacy Functions take tensors only. Anything else is refused before forward runs, so no node is made.

    Fix: keep numbers as attributes of the instance, or use a static Function, which takes any argument.
    """
    x = lab.tensor(requires_grad=True)
    lab.attempt("a number", lambda: identity_legacy(lab)()(x, 5))
    lab.attempt("None", lambda: identity_legacy(lab)()(x, None))
    lab.attempt("a list of tensors", lambda: identity_legacy(lab)()([x]))
    lab.stage("called")


def page_of(action):
    """The page of the documentation that an error points to."""
    try:
        action()
    except RuntimeError as error:
        (link,) = [word for word in str(error).split() if word.startswith("https://")]
        return link.rpartition("/")[2]
    except AttributeError:  # OneFlow's ctx has no such methods
        return "no such method"
    return "no error"


@scenario(
    title="The page that errors about a missing node point to",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(what, page, probe="value", on=on, because=because)
        for what in ("register_hook", "_register_hook_dict", "_do_backward")
        for on, page, because in (
            ("torch-1.1", "no error", "the node is a part of the instance"),
            ("torch-1.2", EXTENDING, "the page about static Functions: the error's remedy"),
        )
    ],
)
def legacy_errors_name_a_page(lab):
    """`register_hook`, `_register_hook_dict` and `_do_backward` of an instance whose graph is gone: the error of 1.2 says
    what to do, and where the new style is explained."""
    f, output = called(lab)
    hooked = lab.tensor(requires_grad=True)
    hooked.register_hook(lambda grad: None)
    del output
    lab.value("register_hook", page_of(lambda: f.register_hook(lambda inputs, outputs: None)))
    lab.value("_register_hook_dict", page_of(lambda: f._register_hook_dict(hooked)))
    lab.value("_do_backward", page_of(lambda: f._do_backward((lab.tensor(2),), True)))
    lab.stage("asked")


@scenario(
    title="A tensor's hooks put on a legacy instance before its call",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22925"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect("before the call", None, probe="value", on="torch-1.1", because="the node is there from the start"),
        Expect(
            "before the call",
            "RuntimeError: Legacy autograd function had register_hook called before the function was invoked.  This usage "
            "pattern is no longer supported: please call register_hook AFTER calling your function, or port your code to "
            "use non-legacy autograd function, see: (link)",
            probe="value",
            on="torch-1.2",
            because="before the call there is no node to put them on",
        ),
        Expect("after the call", None, probe="value", on=OLD),
        Expect("times the hook ran", 1, probe="value", on=OLD),
    ],
)
def legacy_hook_dict_before_the_call(lab):
    """`f._register_hook_dict(tensor)` connects a tensor's dict of hooks with a node, as `tensor.register_hook` does.

    Before the call 1.2 refuses it with the words of `register_hook`, the method that a user called; `register_hook` of the
    instance itself speaks of `_register_hook`. After the call both releases take it, and the hook runs in backward.
    """
    calls = []
    hooked = lab.tensor(requires_grad=True)
    hooked.register_hook(lambda grad: calls.append(1))
    f = identity_legacy(lab)()
    lab.attempt("before the call", lambda: f._register_hook_dict(hooked))
    f, output = called(lab)
    lab.attempt("after the call", lambda: f._register_hook_dict(hooked))
    output.sum().backward()
    lab.value("times the hook ran", len(calls))
    lab.stage("backward done")


@scenario(
    title="A legacy backward is differentiable once",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect("gradient requires grad", False, probe="value", on=OLD, because="its history is cut off"),
        Expect(
            "gradient of a gradient that requires grad",
            "RuntimeError: SquareLegacyBackward is not differentiable twice",
            probe="value",
            on=OLD,
            because="behind the result is a node that raises",
        ),
    ],
)
def legacy_backward_is_differentiable_once(lab):
    """The backward of a legacy Function records its operations if asked to, and its result is cut off from them.

    With create_graph the gradient does not require grad, although backward used x, which does: no error, and a second
    derivative that is missing. If the incoming gradient requires grad, so does the result, and a second backward raises.
    A static Function's backward is differentiated like any other code.
    """

    class Square(lab.fw.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x

        def backward(self, grad):
            (x,) = self.saved_tensors
            return grad * 2 * x

    x, incoming = lab.tensor(requires_grad=True), lab.tensor(requires_grad=True)
    (grad,) = lab.fw.autograd.grad(Square()(x).sum(), x, create_graph=True)
    lab.value("gradient requires grad", grad.requires_grad)
    (grad,) = lab.fw.autograd.grad(Square()(x), x, incoming, create_graph=True)
    lab.attempt("gradient of a gradient that requires grad", lambda: lab.fw.autograd.grad(grad.sum(), incoming))
    lab.stage("differentiated twice")
