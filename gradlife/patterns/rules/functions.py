"""GL1xx to GL3xx: custom Functions, wrappers, saved tensors and hooks."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.patterns.matching.pattern import Case, Pattern, is_collectable

SAVE = """\
# in forward:
ctx.save_for_backward({attribute})
# in backward:
{attribute}, = ctx.saved_tensors"""
HANDLE = """\
handle = {registering}(...)
...
handle.remove()"""


def is_leaf_cycle(case: Case) -> bool:
    """Whether the tensor of the cycle is a leaf."""
    facts = case.trace.tensor if not case.trace.tail else None
    has_node = any(str(token) in {"tensor.grad_fn", "node.next", "node.saved"} for token in case.cycle)
    return not has_node and not (facts is not None and facts.grad_fn)


def is_stored_with_graph(case: Case) -> bool:
    """Whether the gradient at the end of the path has a graph."""
    ends_there = [str(token) for token in case.path[-2:]] == ["tensor.grad", "=tensor"]
    return not ends_there or bool(case.trace.tensor is not None and case.trace.tensor.grad_fn)


def is_own_hook(case: Case) -> bool:
    """Whether the cycle has no parts of a module's full backward hook."""
    return not any(token.family == "modulehook" for token in case.cycle)


FUNCTION_CYCLES = (
    Pattern(
        "GL321",
        "a checkpointed function closes over the container of its output",
        "The ctx of the checkpoint's node keeps the function passed to checkpoint(), {function}, until backward. The "
        "function closes over {variable}, which holds the output: output, node and function hold one another.",
        "Do not store a checkpoint's output where the checkpointed function refers to it; pass the inputs as arguments.",
        "out = checkpoint(run, weight, inputs, use_reentrant=False)  # `run` closes over nothing that holds `out`",
        cycles=("ctx.attr:run_function ...",),
        links=("pytorch/pytorch#84413",),
        example="dict ['out'] → Tensor grad_fn → CheckpointFunctionBackward .run_function → function closure → the same dict",
    ),
    Pattern(
        "GL101",
        "ctx keeps its own output",
        "The attribute {attribute} of the ctx of {owner} is the output of the very same call: the output owns its grad node, "
        "which is that ctx, and the ctx owns the output.",
        "Pass tensors to ctx.save_for_backward: it recognizes outputs and keeps them without their graph.",
        SAVE,
        change="{saved}",
        cycles=("ctx.attr {inside}~ tensor.grad_fn",),
        links=("pytorch/pytorch#25340", "pytorch/pytorch#5569"),
        example="Tensor grad_fn → MulByTwoBackward .result → the same Tensor",
    ),
    Pattern(
        "GL104",
        "ctx saved a view of its output",
        "The ctx of {owner} saved a view of its own output. The view owns its base, the output, and the output owns the node: "
        "a cycle through C++ that the collector does not see.",
        "Save the output itself, or a detached view of it.",
        "ctx.save_for_backward(output.detach()[0])",
        cycles=("ctx.saved tensor.base tensor.grad_fn", "ctx.saved|ctx.attr ... tensor.base tensor.grad_fn ..."),
        links=("pytorch/pytorch#94990",),
        example="Tensor grad_fn → FBackward saved → Tensor base → the first Tensor",
    ),
    Pattern(
        "GL310",
        "the result of a pack hook leads back to the output",
        "A saved slot of {node} keeps its hooks and what the pack hook returned, and one of these leads back to the output of "
        "that node. Only backward empties the slot.",
        "Let the pack hook return data that has no graph: a detached tensor, an index, a copy on another device.",
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):\n    ...",
        cycles=("node.packed|node.pack|node.unpack|ctx.packed|ctx.pack|ctx.unpack ...",),
        links=("pytorch/pytorch#115255", "pytorch/pytorch#82776"),
        example="Tensor grad_fn → ExpBackward0 packed → the same Tensor",
    ),
    Pattern(
        "GL410",
        "anomaly mode keeps the node that made it",
        "In anomaly mode the metadata of {node} keep the node whose backward created it, and something in them leads back.",
        "Turn anomaly detection on only while you debug.",
        "torch.autograd.set_detect_anomaly(False)",
        cycles=("node.metadata|ctx.metadata ...",),
        example="SinBackward0 metadata → dict ['parent_'] → ExpBackward0 → … → SinBackward0",
    ),
    Pattern(
        "GL354",
        "a hook after accumulation closes over its leaf",
        "The hook {function}, registered with register_post_accumulate_grad_hook, closes over the leaf that owns it.",
        "Use the hook's argument: it is the leaf.",
        "leaf.register_post_accumulate_grad_hook(lambda leaf: ...)",
        cycles=("tensor.posthooks dict.value ...",),
        example="Parameter post-accumulate hooks → dict → function closure → the same Parameter",
    ),
    Pattern(
        "GL357",
        "a multi-grad hook keeps its nodes",
        "The multi-grad hook {function} keeps the list of its grad nodes, and the nodes keep the hook.",
        "Remove the handle when you no longer need the hook.",
        HANDLE.replace("{registering}", "torch.autograd.graph.register_multi_grad_hook"),
        change="{removal}",
        cycles=(
            "node.hooks|tensor.hooks dict.value ... list.item|tuple.item node.hooks|ctx.hooks|tensor.hooks ...",
            "node.hooks|tensor.hooks dict.value ... list.item|tuple.item",
        ),
        links=("pytorch/pytorch#82528",),
        example="AddBackward0 hooks → dict → function closure → list [0] → the same AddBackward0",
    ),
    Pattern(
        "GL350",
        "a leaf's hook closes over the leaf",
        "A leaf tensor owns the hook {function}, and the hook closes over the leaf ({variable}).",
        "Use the hook's argument, the gradient, or close over less than the leaf: its shape, a detached copy, a weak "
        "reference.",
        "leaf.register_hook(lambda grad: grad * scale)  # closes over `scale`, not over `leaf`",
        cycles=("tensor.hooks dict.value ...",),
        when=is_leaf_cycle,
        example="Tensor hooks → OrderedDict → function closure → the same Tensor",
    ),
    Pattern(
        "GL353",
        "a weight's hook closes over a loss",
        "A leaf owns the hook {function}. The hook closes over {variable}, whose graph leads back to the leaf.",
        "Close over the number: loss.item() or loss.detach().",
        "value = loss.detach()\nweight.register_hook(lambda grad: grad * value)",
        cycles=("node.variable tensor.hooks dict.value ... tensor.grad_fn ...",),
        example="Parameter hooks → function closure → Tensor grad_fn → … → AccumulateGrad variable → the same Parameter",
    ),
    Pattern(
        "GL351",
        "a tensor's hook closes over the tensor",
        "The hook {function} was registered on a tensor with a graph. The tensor's grad node owns the hook, the hook closes "
        "over {variable}, and {variable} owns the node.",
        "Use the hook's argument, close over detached values, or remove the handle after backward.",
        HANDLE.replace("{registering}", "tensor.register_hook"),
        change="{removal}",
        cycles=("tensor.hooks dict.value ...", "node.hooks dict.value {call}+ tensor.grad_fn"),
        when=is_own_hook,
        links=("pytorch/pytorch#82528",),
        example="Tensor grad_fn → MulBackward0 hooks → function closure → the same Tensor",
    ),
    Pattern(
        "GL352",
        "a node's hook closes over its output",
        "The grad node {node} owns the hook {function}. The hook closes over {variable}, which leads back to the node.",
        "Close over detached values, or remove the handle after backward.",
        HANDLE.replace("{registering}", "tensor.grad_fn.register_hook"),
        change="{removal}",
        cycles=("node.hooks|ctx.hooks ...",),
        when=is_own_hook,
        links=("pytorch/pytorch#71068",),
        example="SinBackward0 hooks → OrderedDict → function closure → Tensor grad_fn → the same SinBackward0",
    ),
    Pattern(
        "GL405",
        "a gradient has a graph that leads back to its tensor",
        "backward(create_graph=True) stored a gradient with a graph in .grad, and the graph leads back to the tensor: tensor, "
        "gradient and graph hold one another through C++.",
        "Use torch.autograd.grad, which stores nothing in .grad, or set .grad to None after use.",
        "grad, = torch.autograd.grad(loss, inputs, create_graph=True)  # nothing is stored in .grad",
        cycles=("tensor.grad ...",),
        paths=("tensor.grad tensor.grad_fn", "tensor.grad =tensor$"),
        when=is_stored_with_graph,
        links=("pytorch/pytorch#7343", "pytorch/pytorch#4661"),
        example="Parameter grad → Tensor grad_fn → MulBackward0 saved tensor → the same Parameter",
    ),
    Pattern(
        "GL702",
        "a tensor has an attribute with a view of itself",
        "The attribute {attribute} of a tensor leads to a view of that tensor, and the view owns its base.",
        "Create the view where you need it, or keep the index.",
        "tensor.rows = slice(0, 4)  # and tensor[tensor.rows] where you need it",
        cycles=("tensor.attr {inside}~ tensor.base",),
        example="Tensor .head → Tensor base → the first Tensor",
    ),
    Pattern(
        "GL703",
        "a storage has an attribute with its tensor",
        "The attribute {attribute} of a storage leads to a tensor that uses the storage.",
        "Keep such data in a dictionary of your own, with weak references.",
        "",
        cycles=("storage.attr ...",),
        example="UntypedStorage .owner → Tensor storage → the same UntypedStorage",
    ),
    Pattern(
        "GL203",
        "an attribute of a tensor leads back to it through the graph",
        "The attribute {attribute} of a tensor leads, through grad nodes in C++, back to the tensor. The collector cannot "
        "follow that path.",
        "Keep a detached tensor, or a number, in the attribute.",
        "tensor.{attribute} = result.detach()",
        change="{detached}",
        cycles=("tensor.attr ... node.next|node.saved|node.variable ...", "tensor.attr {inside}~ tensor.grad_fn ..."),
        example="Tensor .result → Tensor grad_fn → MulBackward0 saved tensor → the first Tensor",
    ),
    Pattern(
        "GL204",
        "a tensor is in a cycle through its own attributes",
        "The attribute {attribute} of a tensor leads back to the tensor.",
        "Keep the values that you need, not the tensor.",
        "",
        cycles=("tensor.attr ...",),
        example="Tensor .owner → Head .weight → the same Tensor",
    ),
    Pattern(
        "GL102",
        "ctx keeps a result computed from its output",
        "The attribute {attribute} of the ctx of {owner} leads, through the graph, back to the node of that ctx.",
        "Keep a detached tensor or a number on ctx.",
        "ctx.{attribute} = value.detach()",
        change="{detached}",
        cycles=("ctx.attr ... tensor.grad_fn ...",),
        links=("pytorch/pytorch#25340",),
        example="Tensor grad_fn → SinBackward0 next edge → FBackward .later → the same Tensor",
    ),
    Pattern(
        "GL109",
        "ctx is in a cycle of plain Python objects",
        "The ctx of {owner} refers to Python objects that refer back to it.",
        "Keep plain data on ctx.",
        "",
        cycles=("ctx.* ...",),
        when=is_collectable,
        example="FBackward .owner → Layer .last_ctx → the same FBackward",
    ),
)

FUNCTION_PATHS = (
    Pattern(
        "GL207",
        "each tensor keeps the one it was made from",
        "The attribute {attribute} of the tensor {holder} is a tensor with the same attribute, and so on: the newest tensor "
        "keeps all earlier ones.",
        "Keep a name, a number or a weak reference instead.",
        "new.{attribute} = step  # not the previous tensor",
        paths=("tensor.attr {inside}~ tensor.attr",),
        links=("pytorch/tensordict#1196", "pytorch/pytorch#136358"),
        example="state .current → Traced .parent → Traced .parent → Traced …",
    ),
    Pattern(
        "GL103",
        "an attribute of ctx outlives backward",
        "Backward releases saved tensors, not attributes: {attribute} of the ctx of {owner} lives as long as the output that "
        "{holder} keeps.",
        "Pass the tensor to ctx.save_for_backward, which backward releases, or keep the output detached.",
        SAVE,
        change="{saved}",
        paths=("tensor.grad_fn ctx.attr {inside}~ =*$", "tensor.grad_fn node.next+ ctx.attr {inside}~ =*$"),
        kinds=frozenset({FindingKind.RETAINED, FindingKind.NEVER, FindingKind.NATIVE, FindingKind.NEEDS_GC}),
        links=("dmlc/dgl#1060",),
        example="state .prediction → Tensor grad_fn → ScatterBackward .cache → Tensor",
    ),
    Pattern(
        "GL411",
        "a GradientEdge keeps its graph",
        "{holder} keeps a GradientEdge, and with it the node and the graph behind it.",
        "Drop the edge after use.",
        "",
        paths=("edge.item|edge.attr ...",),
        example="state .edges → list [0] → GradientEdge → AddBackward0",
    ),
    Pattern(
        "GL105",
        "a held grad_fn keeps what its node saved",
        "{holder} keeps a grad node, and the node keeps what it saved and the graph behind it.",
        "Keep the node's name, or drop the node after backward.",
        "names.append(loss.grad_fn.name())",
        paths=(
            "{inside} node.next|node.saved|node.variable|node.metadata|ctx.attr|ctx.saved|ctx.next ...",
            "{inside}|*.global|*.local =node$",
            "{inside}|*.global =ctx$",
        ),
        example="state .nodes → list [3] → MulBackward0 saved tensor → Tensor",
    ),
    Pattern(
        "GL320",
        "a checkpoint keeps every activation of its segment",
        "{holder} still holds what torch.utils.checkpoint keeps for the second forward: backward did not run, or stopped early.",
        "Run backward, or evaluate under torch.no_grad().",
        "with torch.no_grad():\n    out = model(x)",
        paths=("checkpoint.* ...",),
        links=("pytorch/pytorch#161186",),
        example="Tensor grad_fn → … → _CheckpointFrame .recomputed → Tensor",
    ),
    Pattern(
        "GL355",
        "a hook is added to a tensor at each step and never removed",
        "{holder} has {count} hooks: each step registers one and removes none. Each hook keeps its closure "
        "({function}, {variable}).",
        "Register the hook once, before the loop, or remove its handle after the step.",
        HANDLE.replace("{registering}", "{tensor}.register_hook"),
        change="{removal}",
        paths=("tensor.hooks dict.value|dict.key ...", "tensor.posthooks dict.value ..."),
        links=("chr5tphr/zennit#125",),
        example="Linear .weight → Parameter hooks → OrderedDict [17] → function closure variable 'batch' → Tensor",
    ),
    Pattern(
        "GL356",
        "hooks pile up on a node that is kept",
        "{holder} keeps a grad node to which each step adds a hook, {function}.",
        "Remove the hook's handle after the step.",
        HANDLE.replace("{registering}", "node.register_hook"),
        change="{removal}",
        paths=("node.hooks|ctx.hooks dict.value ...",),
        example="AccumulateGrad hooks → OrderedDict [17] → function closure → Tensor",
    ),
)
