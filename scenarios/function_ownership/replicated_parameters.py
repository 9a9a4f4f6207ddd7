"""A gradient penalty through replicas: the program of issue 16532, on one CPU."""

from gradlife.scenario import Expect, scenario

CUT = (
    "the bias is a block's only owner in the first graph; when that graph dies, the block reaches zero and Broadcast loses "
    "its edges, although the penalty needs it"
)
ONE = "there is one count for Broadcast's node, and the penalty's graph is among its owners"


def parallel_functions(lab):
    """Scatter, Gather and Broadcast as DataParallel has them; the first replica's parameters are the parameters."""
    fw = lab.fw

    class Broadcast(fw.autograd.Function):
        @staticmethod
        def forward(ctx, weight, bias):
            return weight, bias, weight * 1, bias * 1

        @staticmethod
        def backward(ctx, weight, bias, other_weight, other_bias):
            return weight + other_weight, bias + other_bias

    class Scatter(fw.autograd.Function):
        @staticmethod
        def forward(ctx, batch):
            return batch[:1] * 1, batch[1:] * 1

        @staticmethod
        def backward(ctx, first, second):
            return Gather.apply(first, second)

    class Gather(fw.autograd.Function):
        @staticmethod
        def forward(ctx, first, second):
            return fw.cat([first, second])

        @staticmethod
        def backward(ctx, grad):
            return Scatter.apply(grad)

    return Broadcast, Scatter, Gather


def network(lab, batch, weight, bias):
    """A linear layer on two replicas: the output, gathered."""
    Broadcast, Scatter, Gather = parallel_functions(lab)
    weight, bias, other_weight, other_bias = Broadcast.apply(weight, bias)
    first, second = Scatter.apply(batch)
    return Gather.apply((first * weight).sum(1, True) + bias, (second * other_weight).sum(1, True) + other_bias)


def penalty_of(lab, output, batch):
    """A penalty on the gradient of the output by the batch."""
    (slope,) = lab.fw.autograd.grad(output.sum(), batch, create_graph=True)
    return slope.mean()


@scenario(
    title="A gradient penalty through replicas, the output dropped",
    origin=["pytorch/pytorch#16532", "pytorch/pytorch#22983"],
    pattern="GL106",
    expects=[
        Expect("gradient of the weight", None, probe="value", on="torch-1.1", because=CUT),
        Expect("gradient of the weight", [[0.25] * 4], probe="value", on="torch-*", because=ONE),
        Expect("gradient of the bias", None, probe="value", on="torch-1.1", because=CUT),
        Expect(
            "gradient of the bias",
            [[0.0]],
            probe="value",
            on="torch-*",
            because="the penalty does not depend on it; Broadcast's backward gets zeros for it",
        ),
    ],
)
def penalty_through_replicas_output_dropped(lab):
    """The program of test_data_parallel_function_deletion. Two GPUs are not what it takes: it takes a parameter that
    Broadcast returns as it is, as it does for the device on which the parameter lives already.

    The network's output is computed by two replicas, its gradient by the batch is a second graph, and the output goes out
    of scope before backward. The second graph needs Broadcast for the weights, the first needs it for weights and bias.

    PyTorch 1.1: a tensor that is new to Python, and whose node is a Python Function's, gets a control block of its own over
    that node; so does an input that is returned as it is, for it becomes a new tensor. When the first graph dies, its
    addition holds the bias's block alone: the block's count is one, so the deleter takes Broadcast apart for its owner, who
    is not the only one. The gradients of weight and bias are None: no error, no warning, just as the reporter saw it.

    Fix for users of such a framework: keep the output until backward is done. From 1.2 on there is one count.
    """
    fw = lab.fw
    weight, bias = fw.ones(1, 4).requires_grad_(), fw.ones(1, 1).requires_grad_()
    batch = fw.ones(2, 4).requires_grad_()
    output = network(lab, batch, weight, bias)
    penalty = penalty_of(lab, output, batch)
    del output
    lab.stage("output dropped")
    penalty.backward()
    lab.value("gradient of the weight", weight.grad)
    lab.value("gradient of the bias", bias.grad)
    lab.stage("backward done")


@penalty_through_replicas_output_dropped.fixed(
    title="A gradient penalty through replicas, the output kept",
    fix="keep the network's output until backward is done (or leave 1.1)",
    expects=[
        Expect("gradient of the weight", [[0.25] * 4], probe="value", because="the first graph is whole until the end"),
        Expect("gradient of the bias", [[0.0]], probe="value", on="torch-*"),
    ],
)
def penalty_through_replicas_output_kept(lab):
    """The same with a name for the output until backward is done: no block reaches zero before."""
    fw = lab.fw
    weight, bias = fw.ones(1, 4).requires_grad_(), fw.ones(1, 1).requires_grad_()
    batch = fw.ones(2, 4).requires_grad_()
    output = network(lab, batch, weight, bias)
    penalty = penalty_of(lab, output, batch)
    lab.stage("output kept")
    penalty.backward()
    lab.value("gradient of the weight", weight.grad)
    lab.value("gradient of the bias", bias.grad)
    lab.stage("backward done")
    del output
