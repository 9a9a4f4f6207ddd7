"""GL6xx and GL7xx: modules, optimizers, views and storages."""

from __future__ import annotations

import math
import re

from gradlife.model.hunt import FindingKind
from gradlife.patterns.pattern import Case, Pattern

GROWTH = frozenset({FindingKind.GROWTH})
RETAINED = frozenset({FindingKind.RETAINED})
HANDLE = """\
handle = module.{registering}(hook)
try:
    ...
finally:
    handle.remove()"""

#: A storage that is so many times larger than what a view shows of it is kept for little.
MUCH = 2
BYTES_OF_TYPE = {"64": 8, "32": 4, "16": 2, "8": 1}


def is_part_of_much(case: Case) -> bool:
    """Is it a view of a storage that is much larger? Where its size is not told, any view is taken for one."""
    tensor = case.trace.tensor
    if tensor is None or not tensor.is_view:
        return False
    shown = shown_bytes(case.steps[-1].detail) if case.steps else None
    return shown is None or tensor.storage_bytes is None or tensor.storage_bytes >= MUCH * max(shown, 1)


def shown_bytes(detail: str) -> int | None:
    """Bytes of the elements that a tensor's description tells of: "float32 [64, 32]"."""
    found = re.search(r"(\d+) \[([\d, ]*)\]", detail)
    if found is None or found[1] not in BYTES_OF_TYPE:
        return None
    return BYTES_OF_TYPE[found[1]] * math.prod(map(int, re.findall(r"\d+", found[2])))


def is_state_dict(case: Case) -> bool:
    """Is what is collected an ordered dict of tensors, as state_dict() makes it?"""
    types = [hop.type for step in case.steps for hop in step.hops]
    return "collections.OrderedDict" in types and not case.has_graph


def is_without_graph(case: Case) -> bool:
    """Is no graph on the way or on what is kept?"""
    return not case.has_graph


MODULE_RINGS = (
    Pattern(
        "GL607",
        "a full backward hook puts the module behind its outputs",
        "A full backward hook of {owner} wraps its inputs and outputs in a node that owns the hook and the module.",
        "Remove the hook's handle when it has done its work.",
        HANDLE.replace("{registering}", "register_full_backward_hook"),
        rings=("modulehook.* ...", "... modulehook.* ..."),
        example="Linear ._backward_hooks → … → BackwardHook .module → the same Linear",
    ),
    Pattern(
        "GL604",
        "a module's hook closes over the module",
        "{owner} owns the hook {function}, which closes over {variable}: the module itself, or what owns it.",
        "Use the module that the hook is called with, or a weak reference.",
        "def hook(module, args, output):\n    return output * module.scale  # not `self.scale`",
        rings=("nn.attr:_*hooks* ...", "nn.attr:_modules dict.value nn.attr:_*hooks* ...", "... nn.attr:_*hooks* ..."),
        links=("pytorch/pytorch#46386",),
        example="GatedNet ._forward_hooks → OrderedDict [5] → function closure variable 'self' → the same GatedNet",
    ),
    Pattern(
        "GL616",
        "a traced module is a ring",
        "A GraphModule, its Graph and the graph's nodes refer to one another ({ring}), with the parameters of the module.",
        "Trace once and use the result again; where that is not possible, collect after it.",
        "traced = torch.fx.symbolic_trace(model)  # once, outside of the loop",
        rings=("fx.* ...", "... fx.* ..."),
        links=("pytorch/pytorch#129901", "pytorch/pytorch#169642"),
        example="GraphModuleImpl ._graph → Graph ._root → Node → … → the same GraphModuleImpl",
    ),
    Pattern(
        "GL613",
        "a scheduler and its optimizer are in a ring",
        "A learning rate scheduler refers to its optimizer, and something of the optimizer refers back ({ring}).",
        "Make both once, not at each step.",
        "",
        rings=("scheduler.* ...", "... scheduler.* ..."),
        example="StepLR .optimizer → Adam .step → function → the same StepLR",
    ),
    Pattern(
        "GL602",
        "a function kept on an optimizer closes over it",
        "The attribute {attribute} of {owner} is {function}, which closes over the optimizer that owns it, with all its "
        "parameters and state.",
        "Let the function close over the values it needs, or take the optimizer as an argument.",
        "permutation = optimizer.permutation\n\ndef smooth(grad):\n    return grad.permute(*permutation)",
        rings=("optimizer.attr* {inside}~ {call}+ {inside}~",),
        links=("rohitrango/FireANTs#107",),
        example="SGD .smooth → function closure variable 'optimizer' → the same SGD",
    ),
    Pattern(
        "GL608",
        "a child module keeps its parent",
        "{owner} owns a child module, and the attribute {attribute} of the child is the parent.",
        "Hand the parent in when it is needed, or keep a weak reference.",
        'object.__setattr__(self, "{attribute}", weakref.proxy(parent))',
        rings=(
            "nn.attr* dict.value~ {inside}~ nn.attr* dict.value~ {inside}~",
            "nn.attr* dict.value~ nn.attr* dict.value~ nn.attr* dict.value~",
        ),
        example="Net ._modules → dict ['head'] → Head .parent → the same Net",
    ),
)

MODULE_WAYS = (
    Pattern(
        "GL612",
        "a hook is put on optimizers and never removed",
        "{holder} has {count} hooks on optimizers: each keeps what it closes over ({function}, {variable}).",
        "Remove the hook's handle when it is no longer needed.",
        "handle = optimizer.register_step_post_hook(hook)\n...\nhandle.remove()",
        ways=("optimizer.attr:_optimizer* ...", "*module.global:_global_optimizer* ..."),
        example="Adam ._optimizer_step_post_hooks → OrderedDict [41] → function closure → Tensor",
    ),
    Pattern(
        "GL605",
        "a hook is put on a module for each use and never removed",
        "{holder} has {count} hooks: one is registered at each use and none removed. Each keeps the object that it belongs "
        "to or what it closes over ({function}).",
        "Remove the handle when the hook has done its work.",
        HANDLE.replace("{registering}", "register_forward_hook"),
        ways=("nn.attr:_*hooks* ...", "torchmodule.global:_global_*hooks* ...", "modulehook.* ..."),
        links=("KamitaniLab/bdpy#72", "huggingface/peft#2761"),
        example="Sequential ['1'] → ReLU ._forward_hooks → OrderedDict [41] → method capture → Extractor .features → Tensor",
    ),
    Pattern(
        "GL601",
        "an optimizer keeps parameters that its model has let go",
        "{holder} has parameters or state of parameters that no module uses any more: a replaced layer stays in "
        "`param_groups` and in `state` until it is taken out.",
        "Make a new optimizer when parameters are replaced, or take the old ones out of its groups and its state.",
        "for old in replaced.parameters():\n    optimizer.state.pop(old, None)\noptimizer.param_groups.pop()",
        ways=(
            "optimizer.attr:state dict.value|dict.key {inside}~ =*$",
            "optimizer.attr:param_groups {inside}+ =*$",
            "optimizer.attr:state dict.value|dict.key {inside}~ tensor.grad|tensor.attr =*$",
            "optimizer.attr:param_groups {inside}+ tensor.grad =*$",
        ),
        kinds=GROWTH,
        links=("online-ml/deep-river#169", "ContinualAI/avalanche#1609"),
        example="state .opt → Adam .state → defaultdict → dict ['exp_avg'] → Tensor",
    ),
    Pattern(
        "GL614",
        "batches wait in a loader that is kept",
        "{holder} is an iterator of a DataLoader that has not come to its end: what its workers have sent waits in it.",
        "Let the iterator end, or let go of it.",
        "",
        ways=("loader.* ...",),
        example="state .iterators → list [3] → _MultiProcessingDataLoaderIter ._task_info → dict → tuple → Tensor",
    ),
    Pattern(
        "GL701",
        "a small view keeps a large storage",
        "{holder} gets a view ({what}) of a tensor that is much larger, {storage}: the view owns the whole storage.",
        "Copy what you want to keep.",
        "{holder_code}.append({result}.clone())",
        ways=("@ {growing} {inside}~ =tensor$", "@ {growing} {inside}~ array.* ...", "{inside} =tensor$"),
        when=is_part_of_much,
        links=("pytorch/pytorch#33101", "pytorch/pytorch#1995"),
        example="state .rows → list [41] → Tensor float32 [64], a view of 32 KiB",
    ),
    Pattern(
        "GL610",
        "a copy of the weights is kept for each epoch",
        "{holder} has {count} entries, each a whole state dict.",
        "Keep the best or the last, or write them to files.",
        "torch.save(model.state_dict(), path)",
        ways=("@ {growing} {inside}~ dict.value =tensor$", "@ {growing} {inside}~ dict.value {inside}+ =tensor$"),
        when=is_state_dict,
        kinds=GROWTH,
        links=("choderalab/pinot#23",),
        example="state .record → dict [17] → OrderedDict ['0.weight'] → Tensor",
    ),
    Pattern(
        "GL610",
        "a copy of the model is kept at each step",
        "{holder} has {count} entries, each a module with parameters of its own.",
        "Keep the best or the last, or write them to files.",
        "torch.save(model.state_dict(), path)",
        ways=("@ {growing} {inside}~ nn.attr:_parameters|nn.attr:_buffers|nn.attr:_modules dict.value ... =tensor$",),
        when=is_without_graph,
        kinds=GROWTH,
        example="state .snapshots → list [17] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL615",
        "a module gets a new child, parameter or buffer at each step",
        "{holder} has {count} entries: each step adds one.",
        "Replace the former one instead of adding under a new name.",
        "model.head = nn.Linear(64, 10)  # under the same name",
        ways=("nn.attr:_modules|nn.attr:_parameters|nn.attr:_buffers @ dict.value ...",),
        kinds=GROWTH,
        example="ModuleList ['41'] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL606",
        "what a hook wrote on a module stays there",
        "The attribute {attribute} of {owner} is a tensor of a finished step. A module lives as long as the model, and what "
        "is written on it with it.",
        "Delete the attribute when it has been used, or write into a dictionary of your own.",
        "del {holder_code}.{attribute}",
        ways=("nn.attr {inside}~ =tensor$", "nn.attr {inside}~ tensor.grad_fn ..."),
        kinds=RETAINED,
        links=("jmschrei/tangermeme#84",),
        example="state .models → list [2] → Sequential ['1'] → ReLU .output → Tensor",
    ),
)
