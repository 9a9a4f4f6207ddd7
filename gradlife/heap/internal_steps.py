"""Fold internal tables of modules, optimizers, tensors and grad nodes: ``_parameters['weight']`` becomes ``.weight``."""

from __future__ import annotations

from gradlife.heap.graph import Reference, is_a
from gradlife.heap.ownership_links import (
    OWNER_WORDS,
    Fold,
    Links,
    attribute_at,
    follows,
    short_type,
)
from gradlife.heap.torch_layout.labels import (
    HOOK_TABLE,
    HOOKS,
    MEMORY_OF,
    POST_ACCUMULATE_HOOKS,
    PREHOOKS,
    TENSOR_HOOKS,
)
from gradlife.model.trace import MODULE_CONTAINERS

MODULES = frozenset({"torch.nn.modules.module.Module", "gradlife.engine.nn.modules.module.Module"})
OPTIMIZERS = frozenset({"torch.optim.optimizer.Optimizer", "gradlife.engine.optim.optimizer.Optimizer"})

MEMBER_TABLES = {"_parameters", "_buffers", "_modules"}
MODULE_HOOKS = {
    "_forward_hooks": "forward hook",
    "_forward_pre_hooks": "forward pre-hook",
    "_backward_hooks": "backward hook",
    "_backward_pre_hooks": "backward pre-hook",
    "_state_dict_hooks": "state_dict hook",
    "_state_dict_pre_hooks": "state_dict pre-hook",
    "_load_state_dict_pre_hooks": "load_state_dict pre-hook",
    "_load_state_dict_post_hooks": "load_state_dict post-hook",
}
GLOBAL_MODULE_HOOKS = {f"_global{name}": f"global {words}" for name, words in MODULE_HOOKS.items()} | {
    "_global_parameter_registration_hooks": "global parameter registration hook",
    "_global_buffer_registration_hooks": "global buffer registration hook",
    "_global_module_registration_hooks": "global module registration hook",
}
OPTIMIZER_HOOKS = {
    "_optimizer_step_pre_hooks": "step pre-hook",
    "_optimizer_step_post_hooks": "step post-hook",
    "_optimizer_state_dict_pre_hooks": "state_dict pre-hook",
    "_optimizer_state_dict_post_hooks": "state_dict post-hook",
    "_optimizer_load_state_dict_pre_hooks": "load_state_dict pre-hook",
    "_optimizer_load_state_dict_post_hooks": "load_state_dict post-hook",
}
GLOBAL_OPTIMIZER_HOOKS = {
    "_global_optimizer_pre_hooks": "global step pre-hook",
    "_global_optimizer_post_hooks": "global step post-hook",
}
#: Hooks of tensors and nodes, by the label of the reference to their dict.
NATIVE_HOOKS = {
    TENSOR_HOOKS: "tensor hook",
    POST_ACCUMULATE_HOOKS: "post-accumulate hook",
    PREHOOKS: "node prehook",
    HOOKS: "node hook",
    HOOK_TABLE: "hook",
}
#: Labels of references to internal tables, which reports leave out.
TABLES = MEMBER_TABLES | MODULE_HOOKS.keys() | OPTIMIZER_HOOKS.keys() | NATIVE_HOOKS.keys()


def fold_native_hook(links: Links, at: int) -> Fold | None:
    """tensor or node -> dict of hooks -> hook."""
    if (
        links[at].relation != "native"
        or links[at].label not in NATIVE_HOOKS
        or not follows(links, at + 1, "dict_value")
    ):
        return None
    return 2, f"{NATIVE_HOOKS[links[at].label]} {links[at + 1].label}"


def fold_borrowed_memory(links: Links, at: int) -> Fold | None:
    """tensor -> storage -> the owner of borrowed memory."""
    if links[at].label != "storage" or not follows(links, at + 1, "native") or links[at + 1].label != MEMORY_OF:
        return None
    return 2, f"its storage {OWNER_WORDS}"


def fold_module(links: Links, at: int) -> Fold | None:
    """module -> one of its tables -> item. A container such as Sequential becomes part of the same step."""
    if not is_a(links[at], MODULES):
        return None
    found = attribute_at(links, at)
    if found is None or not follows(links, at + found[0], "dict_value"):
        return None
    taken, table = found[0] + 1, found[1]
    entry = links[at + found[0]].label
    if table in MODULE_HOOKS:
        return taken, f"{MODULE_HOOKS[table]} {entry}"
    if table not in MEMBER_TABLES:
        return None
    more = fold_container(links, at + taken) if table == "_modules" else None
    return (taken + more[0], member_words(entry) + more[1]) if more is not None else (taken, member_words(entry))


def fold_container(links: Links, at: int) -> Fold | None:
    """Sequential, ModuleList and similar modules -> item, unless the item is a hook of the container itself."""
    if at >= len(links) or not links[at].type.startswith(MODULE_CONTAINERS):
        return None
    found = fold_module(links, at)
    return found if found is not None and found[1][0] in ".[" else None


def member_words(entry: str) -> str:
    """Format a member: ``'weight'`` is .weight, ``'0'`` is [0], as in `model.layers[0].weight`."""
    name = entry.strip("'")
    if name.isdigit():
        return f"[{name}]"
    return f".{name}" if name.isidentifier() else f"[{entry}]"


def fold_optimizer(links: Links, at: int) -> Fold | None:
    """optimizer -> its state or groups -> item."""
    found = attribute_at(links, at) if is_a(links[at], OPTIMIZERS) else None
    if found is None:
        return None
    after = at + found[0]
    if found[1] in OPTIMIZER_HOOKS and follows(links, after, "dict_value"):
        return found[0] + 1, f"{OPTIMIZER_HOOKS[found[1]]} {links[after].label}"
    if found[1] == "param_groups" and follows(links, after, "item", "dict_value"):
        return fold_group(links, after, found[0])
    if found[1] != "state":
        return None
    if follows(links, after, "dict_key"):
        return found[0] + 1, "a key of its state"
    if not follows(links, after, "dict_value"):
        return None
    of = key_words(links[after].label)
    if follows(links, after + 1, "dict_value"):
        return found[0] + 2, f"optimizer state {links[after + 1].label} of {of}"
    return found[0] + 1, f"optimizer state of {of}"


def fold_group(links: Links, at: int, taken: int) -> Fold:
    """param_groups -> a group -> a parameter or another value of the group."""
    words = f".param_groups[{links[at].index}][{links[at + 1].label}]"
    if links[at + 1].label == "'params'" and follows(links, at + 2, "item"):
        return taken + 3, f"{words}[{links[at + 2].index}]"
    return taken + 2, words


def key_words(label: str) -> str:
    """Format the key of an optimizer's state: ``<torch.nn.parameter.Parameter float32 [2, 3]>`` is Parameter float32
    [2, 3].
    """
    if not label.startswith("<"):
        return label
    type_, space, detail = label.strip("<>").partition(" ")
    return short_type(type_) + space + detail


def fold_global_hook(links: Links, at: int) -> Fold | None:
    """a library's global variable -> a hook of all modules or optimizers."""
    found = attribute_at(links, at) if links[at].type == "module" else None
    tables = {"module": GLOBAL_MODULE_HOOKS, "optimizer": GLOBAL_OPTIMIZER_HOOKS}.get(last_name(links[at]), {})
    if found is None or found[1] not in tables or not follows(links, at + found[0], "dict_value"):
        return None
    return found[0] + 1, f"{tables[found[1]]} {links[at + found[0]].label}"


def last_name(link: Reference) -> str:
    """Return the last part of the name of a module of torch or the engine."""
    is_known = link.detail.startswith(("torch.nn.", "torch.optim.", "gradlife.engine."))
    return link.detail.rpartition(".")[2] if is_known else ""


FRAMEWORK_FOLDS = (fold_native_hook, fold_borrowed_memory, fold_module, fold_optimizer, fold_global_hook)
