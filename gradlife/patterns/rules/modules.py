"""GL6xx and GL7xx: modules, optimizers, views and storages."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import MODULE_CONTAINERS, bytes_of_detail
from gradlife.patterns.matching.growing_container import is_hook_table
from gradlife.patterns.matching.pattern import Case, Pattern

GROWTH = frozenset({FindingKind.GROWTH})
RETAINED = frozenset({FindingKind.RETAINED})
HANDLE = """\
handle = module.{registering}(hook)
try:
    ...
finally:
    handle.remove()"""

#: A view is small if its storage is this many times larger.
MUCH = 2


def is_part_of_much(case: Case) -> bool:
    """Whether it is a view of a much larger storage. Any view counts if the size of the storage is unknown."""
    tensor = case.trace.tensor
    if tensor is None or not tensor.is_view or tensor.is_alias:
        return False
    if tensor.storage_bytes is None:
        return True
    shown = bytes_of_detail(case.steps[-1].detail) if case.steps else None
    return shown is not None and tensor.storage_bytes >= MUCH * max(shown, 1)


def is_array_of_much(case: Case) -> bool:
    """Whether an array on the path shows a small part of the array or the tensor whose memory it uses."""
    found = [bytes_of_detail(step.detail) for step in case.steps if step.type == "numpy.ndarray"]
    shown = [nbytes for nbytes in found if nbytes is not None]
    whole = bytes_of_detail(case.steps[-1].detail) if case.steps else None
    return bool(shown) and whole is not None and whole >= MUCH * max(min(shown), 1)


def is_of_parameters(case: Case) -> bool:
    """Whether the optimizer gets more parameters: no dict inside its state gets more entries, and no container gets more
    optimizers.
    """
    found = next((at for at, token in enumerate(case.path) if token.family == "optimizer"), None)
    if found is None or case.site is None:
        return True
    return case.site >= found and (str(case.path[found]) != "optimizer.attr:state" or case.site <= found + 1)


def is_state_dict(case: Case) -> bool:
    """Whether the collected objects are ordered dicts of tensors, as from state_dict()."""
    types = [hop.type for step in case.steps for hop in step.hops]
    return "collections.OrderedDict" in types and not case.has_graph


def is_copied_state_dict(case: Case) -> bool:
    """Whether they are copies with their own storages."""
    return is_state_dict(case) and not is_alias(case)


def is_live_state_dict(case: Case) -> bool:
    """Whether their tensors are the live weights."""
    return is_state_dict(case) and is_alias(case)


def is_alias(case: Case) -> bool:
    """Whether the storage of the kept tensor belongs to something that lives anyway."""
    return case.trace.tensor is not None and case.trace.tensor.is_alias


def is_in_container_of_modules(case: Case) -> bool:
    """Whether a ModuleDict, a ModuleList, a ParameterDict or the like grows."""
    return case.growth.step is not None and case.steps[case.growth.step].type.startswith(MODULE_CONTAINERS)


def are_hooks(case: Case) -> bool:
    """Whether it is the hooks that get more, as far as is known, and not something that one hook has."""
    site = case.site if case.growth.is_located else None
    return site is None or any(map(is_hook_table, case.path[max(0, site - 1) : site + 1]))


def is_copied_model(case: Case) -> bool:
    """Whether it is a model with its own storages and without a graph."""
    return not case.has_graph and not is_alias(case)


MODULE_CYCLES = (
    Pattern(
        "GL607",
        "a full backward hook makes outputs keep their module",
        "A full backward hook of {owner} wraps its inputs and outputs in a node that owns the hook and the module.",
        "Remove the handle when you no longer need the hook.",
        HANDLE.replace("{registering}", "register_full_backward_hook"),
        change="{removal}",
        cycles=("modulehook.* ...", "... modulehook.* ..."),
        example="Linear ._backward_hooks → … → BackwardHook .module → the same Linear",
    ),
    Pattern(
        "GL604",
        "a module's hook closes over the module",
        "{owner} owns the hook {function}, which closes over {variable}: the module itself, or what owns it.",
        "Use the module that the hook is called with, or a weak reference.",
        "def hook(module, args, output):\n    return output * module.scale  # not `self.scale`",
        cycles=("nn.attr:_*hooks* ...", "nn.attr:_modules dict.value nn.attr:_*hooks* ...", "... nn.attr:_*hooks* ..."),
        links=("pytorch/pytorch#46386",),
        example="GatedNet ._forward_hooks → OrderedDict [5] → function closure variable 'self' → the same GatedNet",
    ),
    Pattern(
        "GL616",
        "a traced module is in a cycle",
        "A GraphModule, its Graph and the graph's nodes refer to one another ({cycle}) and keep the parameters of the module.",
        "Trace once and reuse the result, or call gc.collect() after each trace.",
        "traced = torch.fx.symbolic_trace(model)  # once, outside of the loop",
        change="{once}",
        cycles=("fx.* ...", "... fx.* ..."),
        links=("pytorch/pytorch#129901", "pytorch/pytorch#169642"),
        example="GraphModuleImpl ._graph → Graph ._root → Node → … → the same GraphModuleImpl",
    ),
    Pattern(
        "GL613",
        "a scheduler and its optimizer are in a cycle",
        "A learning rate scheduler refers to its optimizer, and an attribute of the optimizer refers back ({cycle}).",
        "Create both once, not at each step.",
        "",
        cycles=("scheduler.* ...", "... scheduler.* ..."),
        example="StepLR .optimizer → Adam .step → function → the same StepLR",
    ),
    Pattern(
        "GL602",
        "a function stored on an optimizer closes over it",
        "The attribute {attribute} of {owner} is {function}, which closes over the optimizer that owns it, with all its "
        "parameters and state.",
        "Let the function close over the values it needs, or take the optimizer as an argument.",
        "permutation = optimizer.permutation\n\ndef smooth(grad):\n    return grad.permute(*permutation)",
        cycles=("optimizer.attr* {inside}~ {call}+ {inside}~",),
        links=("rohitrango/FireANTs#107",),
        example="SGD .smooth → function closure variable 'optimizer' → the same SGD",
    ),
    Pattern(
        "GL608",
        "a child module keeps its parent",
        "{owner} owns a child module, and the attribute {attribute} of the child is the parent.",
        "Pass the parent as an argument, or keep a weak reference.",
        'object.__setattr__(self, "{attribute}", weakref.proxy(parent))',
        change="{weak}",
        cycles=(
            "nn.attr* dict.value~ {inside}~ nn.attr* dict.value~ {inside}~",
            "nn.attr* dict.value~ nn.attr* dict.value~ nn.attr* dict.value~",
        ),
        example="Net ._modules → dict ['head'] → Head .parent → the same Net",
    ),
)

CHECKPOINT_PATHS = (
    Pattern(
        "GL617",
        "checkpoint stagers are kept open",
        "{holder} has {count} stagers. Each keeps a copy of all tensors that it staged until they die or it is closed.",
        "Make one stager for all checkpoints, and close it after the last.",
        "stager = DefaultStager(options)  # once, before the loop\n...\nstager.close()",
        paths=("@ {growing} {inside}~ stager.* ...",),
        kinds=GROWTH,
        links=("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html",),
        example="state .stagers → list [7] → DefaultStager ._state_dict_stager → … → UntypedStorage",
    ),
)

MODULE_PATHS = (
    Pattern(
        "GL612",
        "hooks are added to optimizers and never removed",
        "{holder} has {count} hooks on optimizers: each keeps its closure ({function}, {variable}).",
        "Remove the handle when you no longer need the hook.",
        "handle = optimizer.register_step_post_hook(hook)\n...\nhandle.remove()",
        change="{removal}",
        paths=("optimizer.attr:_optimizer* ...", "*module.global:_global_optimizer* ..."),
        example="Adam ._optimizer_step_post_hooks → OrderedDict [41] → function closure → Tensor",
    ),
    Pattern(
        "GL605",
        "a hook is added to a module at each use and never removed",
        "{holder} has {count} hooks: each use registers one and removes none. Each hook keeps its owner or its closure "
        "({function}).",
        "Remove the handle when you no longer need the hook.",
        HANDLE.replace("{registering}", "register_forward_hook"),
        change="{removal}",
        paths=("nn.attr:_*hooks* ...", "torchmodule.global:_global_*hooks* ...", "modulehook.* ..."),
        when=are_hooks,
        links=("KamitaniLab/bdpy#72", "huggingface/peft#2761"),
        example="Sequential ['1'] → ReLU ._forward_hooks → OrderedDict [41] → method capture → Extractor .features → Tensor",
    ),
    Pattern(
        "GL601",
        "an optimizer keeps parameters that its model no longer has",
        "{holder} has parameters, or state of parameters, that no module uses any more: a replaced layer stays in "
        "`param_groups` and in `state` until you remove it.",
        "Create a new optimizer when you replace parameters, or remove the old ones from its groups and its state.",
        "for old in replaced.parameters():\n    optimizer.state.pop(old, None)\noptimizer.param_groups.pop()",
        paths=(
            "optimizer.attr:state dict.value|dict.key {inside}~ =*$",
            "optimizer.attr:param_groups {inside}+ =*$",
            "optimizer.attr:state dict.value|dict.key {inside}~ tensor.grad|tensor.attr =*$",
            "optimizer.attr:param_groups {inside}+ tensor.grad =*$",
        ),
        when=is_of_parameters,
        kinds=GROWTH,
        links=("online-ml/deep-river#169", "ContinualAI/avalanche#1609"),
        example="state .opt → Adam .state → defaultdict → dict ['exp_avg'] → Tensor",
    ),
    Pattern(
        "GL614",
        "a kept DataLoader iterator keeps its batches",
        "{holder} is an unfinished DataLoader iterator: batches from its workers wait in it.",
        "Exhaust the iterator, or drop it.",
        "",
        paths=("loader.* ...",),
        example="state .iterators → list [3] → _MultiProcessingDataLoaderIter ._task_info → dict → tuple → Tensor",
    ),
    Pattern(
        "GL701",
        "a small part of an array keeps all of it",
        "{holder} gets a part of an array. The part uses the memory of the whole array or tensor ({what}), and keeps it.",
        "Copy what you want to keep.",
        "{collecting_copy}",
        change="{copied}",
        paths=("@ {growing} {inside}~ array.* ...",),
        when=is_array_of_much,
        kinds=GROWTH,
        example="state .rows → list [41] → ndarray float32 [64] .base → Tensor float32 [64, 400]",
    ),
    Pattern(
        "GL701",
        "a small view keeps a large storage",
        "{holder} gets a view ({what}) of a much larger tensor, {storage}. The view owns the whole storage.",
        "Clone what you want to keep.",
        "{collecting_clone}",
        change="{cloned}",
        paths=("@ {growing} {inside}~ =tensor$", "@ {growing} {inside}~ array.* ...", "{inside} =tensor$"),
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
        paths=("@ {growing} {inside}~ dict.value =tensor$", "@ {growing} {inside}~ dict.value {inside}+ =tensor$"),
        when=is_copied_state_dict,
        kinds=GROWTH,
        links=("choderalab/pinot#23",),
        example="state .record → dict [17] → OrderedDict ['0.weight'] → Tensor",
    ),
    Pattern(
        "GL512",
        "state dicts that share the live weights are collected",
        "{holder} has {count} entries. Each is a state dict whose tensors are the live weights: all of them show the newest "
        "values, and what grows is the dicts alone.",
        "Copy what you save, and keep the best or the last.",
        "best = copy.deepcopy(model.state_dict())",
        paths=("@ {growing} {inside}~ dict.value =tensor$", "@ {growing} {inside}~ dict.value {inside}+ =tensor$"),
        when=is_live_state_dict,
        kinds=GROWTH,
        example="saved → list [17] → OrderedDict ['0.weight'] → Tensor, the storage of a Parameter",
    ),
    Pattern(
        "GL615",
        "each step adds a child to a container of modules",
        "{holder} has {count} modules: each step adds one, and nothing removes any.",
        "Remove a module when it is needed no longer, or use the one that is there again.",
        "del {holder_code}[key]",
        paths=("nn.attr:_modules|nn.attr:_parameters @ dict.value ...",),
        when=is_in_container_of_modules,
        kinds=GROWTH,
        example="server .adapters → ModuleDict ['a41'] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL615",
        "each step adds a child, parameter or buffer to a module",
        "{holder} has {count} entries: each step adds one.",
        "Replace the previous one instead of adding one under a new name.",
        "model.head = nn.Linear(64, 10)  # under the same name",
        paths=("nn.attr:_modules|nn.attr:_parameters|nn.attr:_buffers @ dict.value ...",),
        kinds=GROWTH,
        example="ModuleList ['41'] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL610",
        "a copy of the model is kept at each step",
        "{holder} has {count} entries, each a module with its own parameters.",
        "Keep the best or the last, or write them to files.",
        "torch.save(model.state_dict(), path)",
        paths=("@ {growing} {inside}~ nn.attr:_parameters|nn.attr:_buffers|nn.attr:_modules dict.value ... =tensor$",),
        when=is_copied_model,
        kinds=GROWTH,
        example="state .snapshots → list [17] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL606",
        "an attribute that a hook set on a module stays",
        "The attribute {attribute} of {owner} is a tensor of a finished step. It lives as long as the module.",
        "Delete the attribute after use, or store the tensor in a dictionary of your own.",
        "del {holder_code}.{attribute}",
        paths=("nn.attr {inside}~ =tensor$", "nn.attr {inside}~ tensor.grad_fn ..."),
        kinds=RETAINED,
        links=("jmschrei/tangermeme#84",),
        example="state .models → list [2] → Sequential ['1'] → ReLU .output → Tensor",
    ),
)
