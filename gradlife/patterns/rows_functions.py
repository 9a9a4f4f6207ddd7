"""GL1xx to GL3xx: custom Functions, wrappers, saved tensors and hooks."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.patterns.pattern import Case, Pattern

SAVE = """\
# in forward:
ctx.save_for_backward({attribute})
# in backward:
{attribute}, = ctx.saved_tensors"""
HANDLE = """\
handle = {registering}(...)
...
handle.remove()"""


def is_leaf_ring(case: Case) -> bool:
    """Is the tensor of the ring a leaf, without a grad node of its own?"""
    facts = case.trace.tensor if not case.trace.tail else None
    has_node = any(str(token) in {"tensor.grad_fn", "node.next", "node.saved"} for token in case.ring)
    return not has_node and not (facts is not None and facts.grad_fn)


def is_stored_with_graph(case: Case) -> bool:
    """Has the gradient at the end of the way a graph?"""
    ends_there = [str(token) for token in case.way[-2:]] == ["tensor.grad", "=tensor"]
    return not ends_there or bool(case.trace.tensor is not None and case.trace.tensor.grad_fn)


def is_own_hook(case: Case) -> bool:
    """Does no part of a module's full backward hook stand in the ring?"""
    return not any(token.family == "modulehook" for token in case.ring)


def is_collectable(case: Case) -> bool:
    """Does the collector free it?"""
    return case.lifetime == "gc"


FUNCTION_RINGS = (
    Pattern(
        "GL321",
        "a checkpointed function closes over what its output is stored in",
        "The function that was given to checkpoint(), {function}, is kept by the ctx of its node until backward, and it "
        "closes over {variable}, in which the output is stored: output, node and function hold one another.",
        "Do not store a checkpoint's output in what the checkpointed function closes over; hand the inputs in as arguments.",
        "out = checkpoint(run, weight, inputs, use_reentrant=False)  # `run` closes over nothing that holds `out`",
        rings=("ctx.attr:run_function ...",),
        links=("pytorch/pytorch#84413",),
        example="dict ['out'] → Tensor grad_fn → CheckpointFunctionBackward .run_function → function closure → the same dict",
    ),
    Pattern(
        "GL101",
        "ctx keeps its own output",
        "The attribute {attribute} of the ctx of {owner} is the output of the very same call: the output owns its grad node, "
        "which is that ctx, and the ctx owns the output.",
        "Hand tensors to ctx.save_for_backward: it knows which of them are outputs and keeps those without their graph.",
        SAVE,
        rings=("ctx.attr {inside}~ tensor.grad_fn",),
        links=("pytorch/pytorch#25340", "pytorch/pytorch#5569"),
        example="Tensor grad_fn → MulByTwoBackward .result → the same Tensor",
    ),
    Pattern(
        "GL104",
        "ctx saved a view of its output",
        "The ctx of {owner} saved a view of its own output. A view owns its base, which is the output, and the output owns "
        "the node: a cycle through C++ that no collector sees.",
        "Save the output itself, or a detached view of it.",
        "ctx.save_for_backward(output.detach()[0])",
        rings=("ctx.saved tensor.base tensor.grad_fn", "ctx.saved|ctx.attr ... tensor.base tensor.grad_fn ..."),
        links=("pytorch/pytorch#94990",),
        example="Tensor grad_fn → FBackward saved → Tensor base → the first Tensor",
    ),
    Pattern(
        "GL310",
        "what a pack hook returned leads back to the output",
        "What a pack hook returned, or what the hooks themselves close over, is kept in a saved slot of {node}, and leads "
        "back to the output of that node. Only backward would empty the slot.",
        "Let the pack hook return data that has no graph: a detached tensor, an index, a copy on another device.",
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):\n    ...",
        rings=("node.packed|node.pack|node.unpack|ctx.packed|ctx.pack|ctx.unpack ...",),
        links=("pytorch/pytorch#115255", "pytorch/pytorch#82776"),
        example="Tensor grad_fn → ExpBackward0 packed → the same Tensor",
    ),
    Pattern(
        "GL410",
        "anomaly mode keeps the node that made it",
        "In anomaly mode the metadata of {node} keep the node whose backward made it, and something in them leads back.",
        "Run with anomaly detection only while you look for a fault.",
        "torch.autograd.set_detect_anomaly(False)",
        rings=("node.metadata|ctx.metadata ...",),
        example="SinBackward0 metadata → dict ['parent_'] → ExpBackward0 → … → SinBackward0",
    ),
    Pattern(
        "GL354",
        "a hook after accumulation closes over its leaf",
        "The hook {function}, registered with register_post_accumulate_grad_hook, closes over the leaf that owns it.",
        "Use the argument that the hook is called with: it is the leaf.",
        "leaf.register_post_accumulate_grad_hook(lambda leaf: ...)",
        rings=("tensor.posthooks dict.value ...",),
        example="Parameter post-accumulate hooks → dict → function closure → the same Parameter",
    ),
    Pattern(
        "GL357",
        "a hook over several tensors keeps their nodes",
        "A hook over several tensors, {function}, keeps the list of their grad nodes, and the nodes keep the hook.",
        "Remove the handle when the hook has done its work.",
        HANDLE.replace("{registering}", "torch.autograd.graph.register_multi_grad_hook"),
        rings=(
            "node.hooks|tensor.hooks dict.value ... list.item|tuple.item node.hooks|ctx.hooks|tensor.hooks ...",
            "node.hooks|tensor.hooks dict.value ... list.item|tuple.item",
        ),
        links=("pytorch/pytorch#82528",),
        example="AddBackward0 hooks → dict → function closure → list [0] → the same AddBackward0",
    ),
    Pattern(
        "GL350",
        "a leaf's hook closes over the leaf",
        "The hook {function} is owned by a leaf tensor and closes over that same leaf ({variable}).",
        "Compute with the gradient that the hook is called with, or close over what is needed of the leaf: its shape, a "
        "detached copy, a weak reference.",
        "leaf.register_hook(lambda grad: grad * scale)  # closes over `scale`, not over `leaf`",
        rings=("tensor.hooks dict.value ...",),
        when=is_leaf_ring,
        example="Tensor hooks → OrderedDict → function closure → the same Tensor",
    ),
    Pattern(
        "GL353",
        "a weight's hook closes over a loss",
        "The hook {function} is owned by a leaf and closes over {variable}, whose graph leads back to the leaf.",
        "Close over the number: loss.item() or loss.detach().",
        "value = loss.detach()\nweight.register_hook(lambda grad: grad * value)",
        rings=("node.variable tensor.hooks dict.value ... tensor.grad_fn ...",),
        example="Parameter hooks → function closure → Tensor grad_fn → … → AccumulateGrad variable → the same Parameter",
    ),
    Pattern(
        "GL351",
        "a tensor's hook closes over the tensor",
        "The hook {function} was registered on a tensor with a graph. The tensor's grad node owns the hook, the hook closes "
        "over {variable}, and that owns the node.",
        "Use the gradient that the hook is called with; close over detached values; remove the handle after backward.",
        HANDLE.replace("{registering}", "tensor.register_hook"),
        rings=("tensor.hooks dict.value ...", "node.hooks dict.value {call}+ tensor.grad_fn"),
        when=is_own_hook,
        links=("pytorch/pytorch#82528",),
        example="Tensor grad_fn → MulBackward0 hooks → function closure → the same Tensor",
    ),
    Pattern(
        "GL352",
        "a node's hook closes over its output",
        "The hook {function} is owned by the grad node {node} and closes over {variable}, which leads back to the node.",
        "Close over detached values, and remove the handle after backward.",
        HANDLE.replace("{registering}", "tensor.grad_fn.register_hook"),
        rings=("node.hooks|ctx.hooks ...",),
        when=is_own_hook,
        links=("pytorch/pytorch#71068",),
        example="SinBackward0 hooks → OrderedDict → function closure → Tensor grad_fn → the same SinBackward0",
    ),
    Pattern(
        "GL405",
        "a gradient has a graph that leads back to its tensor",
        "backward(create_graph=True) stored in .grad a gradient with a graph of its own, and that graph leads back to the "
        "tensor: tensor, gradient and graph hold one another through C++.",
        "Ask for the gradient instead of storing it, or set .grad to None when it has been used.",
        "grad, = torch.autograd.grad(loss, inputs, create_graph=True)  # nothing is stored in .grad",
        rings=("tensor.grad ...",),
        ways=("tensor.grad tensor.grad_fn", "tensor.grad =tensor$"),
        when=is_stored_with_graph,
        links=("pytorch/pytorch#7343", "pytorch/pytorch#4661"),
        example="Parameter grad → Tensor grad_fn → MulBackward0 saved tensor → the same Parameter",
    ),
    Pattern(
        "GL702",
        "a base carries a view of itself",
        "An attribute of a tensor ({attribute}) leads to a view of that tensor, and a view owns its base.",
        "Take the view where it is needed, or keep the index.",
        "tensor.rows = slice(0, 4)  # and tensor[tensor.rows] where it is needed",
        rings=("tensor.attr {inside}~ tensor.base",),
        example="Tensor .head → Tensor base → the first Tensor",
    ),
    Pattern(
        "GL703",
        "a storage carries its tensor",
        "An attribute of a storage ({attribute}) leads to a tensor that lies in it.",
        "Keep such notes in a dictionary of your own, with weak references.",
        "",
        rings=("storage.attr ...",),
        example="UntypedStorage .owner → Tensor storage → the same UntypedStorage",
    ),
    Pattern(
        "GL203",
        "an attribute of a tensor leads back to it through the graph",
        "The attribute {attribute} of a tensor leads, through grad nodes in C++, back to the tensor. The collector cannot "
        "follow that way.",
        "Keep a detached tensor, or a number, in the attribute.",
        "tensor.{attribute} = result.detach()",
        rings=("tensor.attr ... node.next|node.saved|node.variable ...", "tensor.attr {inside}~ tensor.grad_fn ..."),
        example="Tensor .result → Tensor grad_fn → MulBackward0 saved tensor → the first Tensor",
    ),
    Pattern(
        "GL204",
        "a tensor is in a ring of its own attributes",
        "The attribute {attribute} of a tensor leads back to the tensor.",
        "Keep what is needed of the tensor, not the tensor.",
        "",
        rings=("tensor.attr ...",),
        example="Tensor .owner → Head .weight → the same Tensor",
    ),
    Pattern(
        "GL102",
        "ctx keeps a result that was computed from its output",
        "The attribute {attribute} of the ctx of {owner} leads, through the graph, back to the node of that ctx.",
        "Keep a detached tensor or a number on ctx.",
        "ctx.{attribute} = value.detach()",
        rings=("ctx.attr ... tensor.grad_fn ...",),
        links=("pytorch/pytorch#25340",),
        example="Tensor grad_fn → SinBackward0 next edge → FBackward .later → the same Tensor",
    ),
    Pattern(
        "GL109",
        "ctx is part of a ring of plain Python objects",
        "The ctx of {owner} refers to Python objects that refer back to it.",
        "Keep plain data on ctx.",
        "",
        rings=("ctx.* ...",),
        when=is_collectable,
        example="FBackward .owner → Layer .last_ctx → the same FBackward",
    ),
)

FUNCTION_WAYS = (
    Pattern(
        "GL207",
        "each tensor carries the one it was made from",
        "{holder} is a tensor with an attribute {attribute} that is a tensor with the same attribute, and so on: the newest "
        "keeps all before it.",
        "Carry what you need to know of the origin, a name or a number, or a weak reference.",
        "new.{attribute} = step  # not the former tensor",
        ways=("tensor.attr {inside}~ tensor.attr",),
        links=("pytorch/tensordict#1196", "pytorch/pytorch#136358"),
        example="state .current → Traced .parent → Traced .parent → Traced …",
    ),
    Pattern(
        "GL103",
        "an attribute of ctx outlives backward",
        "Backward releases saved tensors, not attributes: {attribute} of the ctx of {owner} lives as long as the output that "
        "{holder} keeps.",
        "Hand the tensor to ctx.save_for_backward, which backward releases; or keep the output detached.",
        SAVE,
        ways=("tensor.grad_fn ctx.attr {inside}~ =*$", "tensor.grad_fn node.next+ ctx.attr {inside}~ =*$"),
        kinds=frozenset({FindingKind.RETAINED, FindingKind.NEVER, FindingKind.NATIVE, FindingKind.NEEDS_GC}),
        links=("dmlc/dgl#1060",),
        example="state .prediction → Tensor grad_fn → ScatterBackward .cache → Tensor",
    ),
    Pattern(
        "GL411",
        "an edge of a graph is kept as a handle",
        "{holder} keeps a GradientEdge, and with it the node and the graph behind it.",
        "Drop the edge when it has been used.",
        "",
        ways=("edge.item|edge.attr ...",),
        example="state .edges → list [0] → GradientEdge → AddBackward0",
    ),
    Pattern(
        "GL105",
        "a held grad_fn keeps what its node saved",
        "{holder} keeps a grad node itself, and with it what the node saved and the graph behind it.",
        "Keep the node's name, or let go of it after backward.",
        "names.append(loss.grad_fn.name())",
        ways=(
            "{inside} node.next|node.saved|node.variable|node.metadata|ctx.attr|ctx.saved|ctx.next ...",
            "{inside}|*.global|*.local =node$",
            "{inside}|*.global =ctx$",
        ),
        example="state .nodes → list [3] → MulBackward0 saved tensor → Tensor",
    ),
    Pattern(
        "GL320",
        "a checkpoint keeps every activation of its segment",
        "What torch.utils.checkpoint keeps for the second forward is still held by {holder}: backward was not run, or stopped "
        "early.",
        "Run backward, or evaluate under torch.no_grad().",
        "with torch.no_grad():\n    out = model(x)",
        ways=("checkpoint.* ...",),
        links=("pytorch/pytorch#161186",),
        example="Tensor grad_fn → … → _CheckpointFrame .recomputed → Tensor",
    ),
    Pattern(
        "GL355",
        "a hook is put on a tensor at each step and never removed",
        "{holder} has {count} hooks: one is registered at each step and none removed. Each keeps what it closes over "
        "({function}, {variable}).",
        "Register the hook once, before the loop; or remove its handle when the step is done.",
        HANDLE.replace("{registering}", "{tensor}.register_hook"),
        ways=("tensor.hooks dict.value|dict.key ...", "tensor.posthooks dict.value ..."),
        links=("chr5tphr/zennit#125",),
        example="Linear .weight → Parameter hooks → OrderedDict [17] → function closure variable 'batch' → Tensor",
    ),
    Pattern(
        "GL356",
        "hooks pile up on a node that is kept",
        "A grad node that {holder} keeps has a hook, {function}, for each step.",
        "Remove the hook's handle when the step is done.",
        HANDLE.replace("{registering}", "node.register_hook"),
        ways=("node.hooks|ctx.hooks dict.value ...",),
        example="AccumulateGrad hooks → OrderedDict [17] → function closure → Tensor",
    ),
)
