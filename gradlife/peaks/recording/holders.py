"""The holders of each storage at one moment, read from the heap graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from gradlife import _heap
from gradlife.heap.graph import Reference
from gradlife.heap.ownership_links import short_type
from gradlife.heap.scan import OWN_FOLDER
from gradlife.model.peak.report import Owner
from gradlife.peaks.recording.graph_names import MODULE, Names
from gradlife.peaks.recording.records import file_of_class, is_bound_anew, is_filled_by_its_class, is_stored_by_key
from gradlife.peaks.recording.variables import Kind, Variable, frames_now, modules_now, variables_now

#: Most tensors to follow one above another, as views and gradients, and most nested containers.
MAX_TENSORS = 6
MAX_LINKS = 6

#: Most holders to find for one storage, and most storages to find holders for.
MAX_HOLDERS = 24
MAX_STORAGES = 2000

#: The dict of a module that names its buffers, and the types that own tensors for later steps.
BUFFERS = "_buffers"
OPTIMIZER = "torch.optim.optimizer.Optimizer"

#: The base of the context of a custom function, which its grad node owns.
CONTEXT = "torch._C._FunctionBase"

#: Iterators that keep the last tuple that they gave, and how the program writes them.
ITERATORS = {"enumerate": "enumerate", "zip": "zip", "itertools.zip_longest": "zip_longest"}

#: The base of outputs that have fields and are mappings, too.
MAPPING = "collections.OrderedDict"

#: The module of a script.
MAIN = "__main__"

#: The reference from a frame to a value that no name has.
STACK = "stack"

#: The name of a gradient that is only added to.
UNREAD_GRADIENT = "grad that nobody reads"

#: The path of a gradient whose parameter an optimizer has.
UPDATED = "updated by an optimizer"

#: The name of what a graph saves and no backward pass reads.
NEVER_UNPACKED = "saved and not read"

#: Types that hold only their items.
CONTAINERS = frozenset({"list", "tuple", "dict", "set", "collections.deque", "collections.OrderedDict"})

#: Types whose references are known as the variables of a frame.
FRAMES = frozenset({"frame", "generator", "coroutine", "async_generator"})

#: The variable of a function that has others inside: known as that of a frame while such a function runs.
CELL = "cell"

#: Callables that only hold what a later call gets: what holds them is the holder.
CALLABLES = frozenset({"function", "method", "functools.partial"})


@dataclass(frozen=True)
class Holder:
    """One holder of a storage."""

    owner: Owner
    text: str = ""  # "local 'logits' of step (train.py:40)"
    kind: Kind = Kind.OTHER
    name: str = ""  # the variable or attribute
    file: str = ""
    function: str = ""  # of a local variable; of a global one the module, of an attribute the class
    line: int = 0  # the line that the frame is at
    #: From the variable to the tensor: ".logits". Of an optimizer's state the parameter that it is for, of a parameter or
    #: buffer the outermost module; of a gradient `UPDATED`, if an optimizer has its parameter.
    path: str = ""
    record: int = 0  # the address of the object, held by the variable, that has the tensor as a field

    @property
    def is_simple(self) -> bool:
        """Whether the name alone holds the tensor."""
        return not self.path

    @property
    def can_let_go(self) -> bool:
        """Whether an edit of the program could release the storage."""
        return self.kind is not Kind.OTHER

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The place that an edit changes; the same for everything that one name holds."""
        if self.kind is Kind.EXCEPTION:  # its traceback holds all variables of its frames
            return str(self.kind), self.file, "", ""
        is_suspended = self.kind in (Kind.GENERATOR, Kind.COROUTINE)
        kind = Kind.LOCAL if is_suspended else self.kind  # it may wait or run
        key = first_key(self.path) if self.kind in (Kind.ATTRIBUTE, Kind.GLOBAL) and not self.record else ""
        name = f".{self.name}" if self.kind is Kind.ATTRIBUTE else self.name
        has_own = bool(key) and is_stored_by_key(self.file, name, key)  # a statement of its own stores it
        return str(kind), self.file, self.function, self.name + (key if has_own else "")


def first_key(path: str) -> str:
    """Return the key with which a path begins, such as ``['loss']``; empty if it begins with something else."""
    return f"{path.partition(']')[0]}]" if path.startswith("['") else ""


@dataclass
class Held:
    """All known holders of one storage."""

    holders: list[Holder] = field(default_factory=list)

    @property
    def owner(self) -> Owner:
        """The purpose of the storage: the first that applies, in the order of `Owner`."""
        order = list(Owner)
        return min((one.owner for one in self.holders), key=order.index, default=Owner.TEMPORARY)

    @property
    def first(self) -> Holder:
        """The holder that stands for all: a name of the program if there is one."""
        named = [one for one in self.holders if one.name and one.kind not in (Kind.SAVED, Kind.ITERATOR)]
        return (named or [one for one in self.holders if one.name] or self.holders or [Holder(Owner.TEMPORARY)])[0]


def storage_addresses() -> list[int]:
    """Return the addresses of all storages that the heap graph reaches."""
    graph = _heap.walk(hidden_sources=OWN_FOLDER)
    return [graph.describe(node).address for node in range(graph.node_count) if graph.kind(node) == "storage"]


def holders_now() -> dict[int, Held]:
    """Return the holders of the largest storages, by address. Only for a forked copy: it changes frames."""
    graph = _heap.freeze(True, True, OWN_FOLDER)
    found = [(graph.describe(node), node) for node in range(graph.node_count) if graph.kind(node) == "storage"]
    largest = sorted(found, key=lambda one: (one[0].bytes or 0) + graph.borrowed(one[1]), reverse=True)[:MAX_STORAGES]
    held = holders_of(graph, [node for _, node in largest])
    return {shown.address: held[node] for shown, node in largest}


def holders_of(
    graph: _heap.Graph, storages: Iterable[int], variables: Mapping[int, list[Variable]] | None = None
) -> dict[int, Held]:
    """Return the holders of storages in a heap frozen just now, by node. Only for a forked copy: it changes frames.

    ``variables``: those of `variables_now`, if they are known already.
    """
    names = Names(graph, variables_now() if variables is None else variables, modules_now(), frames_now())
    return {node: Held(Search(names).storage_holders(node)) for node in storages}


class Search:
    """Searches from a storage upwards for the program's names."""

    def __init__(self, names: Names) -> None:
        self._graph = names.graph
        self._variables = names.variables
        self._modules = names.modules
        self._graphs = names
        self._paths = names.module_paths
        self._seen: set[int] = set()

    def storage_holders(self, storage: int) -> list[Holder]:
        """Return the holders of the tensors on a storage, at most `MAX_HOLDERS`."""
        found: dict[Holder, None] = {}
        for holder in self._storage_holders(storage):
            found[holder] = None
            if len(found) >= MAX_HOLDERS:
                break
        return list(found)

    def _storage_holders(self, storage: int) -> Iterator[Holder]:
        for node in self._graph.referrers(storage):
            if self._graph.kind(node) == "tensor":
                yield from self._tensor_holders(node, MAX_TENSORS)
            elif self._graph.kind(node) == "python":  # a storage's own wrapper
                yield from self._names(node, "", MAX_LINKS)

    def _tensor_holders(self, tensor: int, depth: int) -> Iterator[Holder]:
        if tensor in self._seen or depth == 0:
            return
        self._seen.add(tensor)
        for node in self._graph.referrers(tensor):
            reference = self._reference(node, tensor)
            if reference.kind == "grad_node":
                yield from self._saved(node, reference)
            elif reference.kind == "tensor" and reference.label == "grad":
                name, path = self._parameter_name(node), UPDATED if self._is_updated(node) else ""
                yield Holder(Owner.GRADIENT, f".grad of {name}", Kind.GRADIENT, "grad", path=path)
            elif reference.kind == "tensor":
                yield from self._tensor_holders(node, depth - 1)
            elif reference.kind == "python":
                yield from self._wrapper_holders(node, reference)

    def _saved(self, node: int, reference: Reference) -> Iterator[Holder]:
        """Yield a saved tensor's holders: the variables that keep its graph."""
        text = f"saved {reference.label} of {short_type(reference.type)}"
        names = self._graphs.names(node)
        for variable, path in names:
            yield saved_holder(text, variable, path)
        if not names:
            yield Holder(Owner.SAVED, text, Kind.SAVED)

    def _wrapper_holders(self, wrapper: int, reference: Reference) -> Iterator[Holder]:
        if is_parameter(reference):
            name, top = self._parameter_name_of_wrapper(wrapper), self._paths.outermost(wrapper)
            yield Holder(Owner.PARAMETER, f"parameter {name}", path=top)
        elif has_base(reference, CONTEXT):  # a backward pass has it as `ctx`, which deletes nothing
            for node in self._graph.referrers(wrapper):
                if (above := self._reference(node, wrapper)).kind == "grad_node":
                    yield from self._saved(node, above)
        else:
            yield from self._names(wrapper, "", MAX_LINKS)

    def _names(self, node: int, path: str, depth: int, record: int = 0) -> Iterator[Holder]:
        """Yield the variables and attributes that hold an object, directly or in containers."""
        if depth == 0 or (path and node in self._seen):
            return
        self._seen.add(node)
        address = self._graph.describe(node).address
        for variable in self._variables.get(address, ()):
            yield variable_holder(variable, path, record)
        for above in dict.fromkeys(self._graph.referrers(node)):
            yield from self._holder_above(above, node, path, depth, record)

    def _holder_above(self, above: int, node: int, path: str, depth: int, record: int) -> Iterator[Holder]:
        reference = self._reference(above, node)
        if reference.kind == "grad_node":
            yield from self._saved(above, reference)
        elif reference.relation == STACK:
            yield Holder(Owner.TEMPORARY, f"a value in {reference.detail}")
        elif (module := self._modules.get(reference.address)) is not None:
            yield global_holder(module, reference.label.strip("'"), path, record)
        elif reference.type in ITERATORS:
            yield from self._iterator_holders(above, ITERATORS[reference.type])
        elif reference.type == CELL and self._is_of_frame(above):
            return
        elif reference.kind == "python" and reference.type not in FRAMES:
            yield from self._container_holders(above, reference, path, depth, record)

    def _container_holders(
        self, above: int, reference: Reference, path: str, depth: int, record: int
    ) -> Iterator[Holder]:
        if reference.type in CALLABLES:
            found = self._names(above, "(...)", depth - 1)
            yield from (one for one in found if one.kind is Kind.LOCAL or reference.type != "function")
            return
        attributes = self._owner_of_attributes(above)
        if attributes is not None:
            above, name = attributes, reference.label.strip("'")
            owner = self._reference_to(above)
        elif reference.relation in {"attribute", "slot"}:
            owner, name = reference, reference.label
        elif (state := self._graphs.states.get(reference.address)) is not None:
            yield self._state_holder(*state)
            return
        else:
            is_output = has_base(reference, MAPPING) and reference.type != MAPPING
            record = self._graph.describe(above).address if is_output else record
            yield from self._names(above, link(reference) + path, depth - 1, record)
            return
        if name == BUFFERS:
            module, buffer = self._paths.path(above), path.strip("'[]")
            text = f"buffer {module}.{buffer}" if module else f"buffer {buffer}"
            yield Holder(Owner.BUFFER, text, path=self._paths.parts(above)[0])
        elif has_base(owner, OPTIMIZER):
            yield Holder(Owner.OPTIMIZER, f"state of {self._paths.place(above) or short_type(owner.type)}")
        elif self._is_record(above, owner, name):
            yield from self._names(above, f".{name}{path}", depth - 1, self._graph.describe(above).address)
        else:
            module = self._paths.path(above) if has_base(owner, MODULE) else ""
            attribute = attribute_holder(owner, name, path, module)
            yield from self._records_with(above, owner, f".{name}{path}", depth) or [attribute]

    def _state_holder(self, optimizer: int, parameter: int) -> Holder:
        """Describe the state that an optimizer has for a parameter; both are addresses."""
        node, wrapper = self._graph.find(optimizer), self._graph.find(parameter)
        name = self._paths.place(node) if node is not None else ""
        of = self._parameter_name_of_wrapper(wrapper) if wrapper is not None else ""
        return Holder(Owner.OPTIMIZER, f"state of {name or 'an optimizer'}", path=of)

    def _records_with(self, node: int, owner: Reference, path: str, depth: int) -> list[Holder]:
        """Return the variables with the outputs of models that an object is a part of, such as a cache of keys.

        None if something else holds it, too: it may last.
        """
        found: list[Holder] = []
        if not has_base(owner, MODULE) and not is_class(owner):
            for one in Search(self._graphs)._names(node, path, depth - 1):
                record = self._graph.find(one.record) if one.record else None
                if record is None or not has_base(self._reference_to(record), MAPPING):
                    return []
                found.append(one)
        return found

    def _is_of_frame(self, cell: int) -> bool:
        """Whether a frame has the cell, or a function that runs."""
        for node in self._graph.referrers(cell):
            above = self._reference(node, cell)
            if above.kind == "root" or above.type in FRAMES:
                return True
        return False

    def _owner_of_attributes(self, node: int) -> int | None:
        """Return the object whose attributes are in a dict; None if it is another dict."""
        for above in self._graph.referrers(node)[:4]:
            reference = self._reference(above, node)
            if reference.label == "__dict__":
                return above
        return None

    def _reference_to(self, node: int) -> Reference:
        """Return a reference of an object, to read its type."""
        return self._reference(node, node)

    def _iterator_holders(self, iterator: int, name: str) -> Iterator[Holder]:
        """Yield the frames of loops that run through an iterator which keeps the last item."""
        for node in self._graph.referrers(iterator):
            reference = self._reference(node, iterator)
            frame = self._graphs.frames.get(reference.detail) if reference.relation == STACK else None
            if frame is not None:
                file, line, function = frame
                text = f"the last item of `{name}` in {reference.detail}"
                yield Holder(Owner.NAMED, text, Kind.ITERATOR, name, file, function, line)

    def _is_record(self, node: int, owner: Reference, name: str) -> bool:
        """Whether variables other than ``self`` hold the object, such as a model's output, and it lasts no longer."""
        if has_base(owner, MODULE) or has_base(owner, CONTEXT) or is_class(owner):
            return False
        if is_filled_by_its_class(owner.type, name):
            return False
        variables = self._variables.get(self._graph.describe(node).address, ())
        if not variables:
            is_global = any(has_base(owner, MAPPING) or is_bound_anew(*one) for one in self._globals(node))
            return is_global or self._is_item_of_locals(node)
        return all(one.name != "self" for one in variables)

    def _is_item_of_locals(self, node: int) -> bool:
        """Whether only containers have the object that a local variable of a function holds, and nothing else."""
        containers = [above for above in self._graph.referrers(node) if self._graph.kind(above) != "root"]
        return bool(containers) and all(map(self._is_container_of_locals, containers))

    def _is_container_of_locals(self, node: int) -> bool:
        reference = self._reference_to(node)
        held = self._variables.get(reference.address, ()) if reference.type in CONTAINERS else ()
        above = (self._reference(one, node) for one in self._graph.referrers(node))
        is_only_local = all(one.kind == "root" or one.type in FRAMES for one in above)
        return is_only_local and any(one.kind is Kind.LOCAL and one.name != "self" for one in held)

    def _globals(self, node: int) -> Iterator[tuple[str, str]]:
        """Yield the file and name of each variable of a module that holds the object."""
        for above in self._graph.referrers(node):
            reference = self._reference(above, node)
            if (module := self._modules.get(reference.address)) is not None:
                yield getattr(module, "__file__", None) or "", reference.label.strip("'")

    def _is_updated(self, tensor: int) -> bool:
        """Whether an optimizer has a tensor among its parameters."""
        wrappers = (self._graph.describe(node).address for node in self._graph.referrers(tensor))
        return any(address in self._graphs.updated for address in wrappers)

    def _parameter_name(self, tensor: int) -> str:
        for node in self._graph.referrers(tensor):
            if self._graph.kind(node) == "python":
                return self._parameter_name_of_wrapper(node)
        return "a tensor"

    def _parameter_name_of_wrapper(self, wrapper: int) -> str:
        return self._paths.parameter(wrapper) or "a tensor"

    def _reference(self, node: int, target: int) -> Reference:
        return self._graph.references_along([node, target])[0]


def saved_holder(text: str, variable: Variable, path: str) -> Holder:
    """Describe a tensor that a variable keeps through a graph."""
    shown = f"{text}, in the graph of {variable.name}{path}"
    places = variable.name, variable.file, variable.function, variable.line
    kind = Kind.EXCEPTION if variable.kind is Kind.EXCEPTION else Kind.SAVED  # its traceback keeps the graph
    return Holder(Owner.SAVED, shown, kind, *places, path)


def has_base(reference: Reference, name: str) -> bool:
    """Whether the object's type, by full name, is this type or derived from it."""
    return reference.type == name or name in reference.bases.splitlines()


def is_class(reference: Reference) -> bool:
    """Whether the object is a class, whose full name is then its detail."""
    return has_base(reference, "type")


def is_parameter(reference: Reference) -> bool:
    """Whether the object is a Parameter's wrapper."""
    return short_type(reference.type) == "Parameter" or "torch.nn.parameter.Parameter" in reference.bases.splitlines()


def variable_holder(variable: Variable, path: str, record: int) -> Holder:
    """Describe a tensor that a variable of a frame holds."""
    places = variable.name, variable.file, variable.function, variable.line
    if variable.kind is Kind.OTHER:
        return Holder(Owner.TEMPORARY, f"an argument of what {variable.function} calls", variable.kind, *places)
    return Holder(Owner.NAMED, variable.text(path), variable.kind, *places, path, record)


def global_holder(module: ModuleType, name: str, path: str, record: int) -> Holder:
    """Describe a tensor that a variable of a module holds."""
    file, scope = getattr(module, "__file__", None) or "", module.__name__
    text = f"global {name}{path} of {os.path.basename(file) if scope == MAIN and file else scope}"
    return Holder(Owner.NAMED, text, Kind.GLOBAL, name, file, scope, path=path, record=record)


def attribute_holder(owner: Reference, name: str, path: str, module: str) -> Holder:
    """Describe a tensor that an attribute of a lasting object holds. ``module``: where the object is in a model."""
    full = owner.detail if is_class(owner) else owner.type
    kind = short_type(full)
    shown = f"class {kind}" if is_class(owner) else f"{module} ({kind})" if module else kind
    text = f"attribute .{name}{path} of {shown}"
    return Holder(Owner.NAMED, text, Kind.ATTRIBUTE, name, file_of_class(full), kind, path=path)


def link(step: Reference) -> str:
    """Format one reference as a piece of an expression."""
    if step.relation == "item":
        return f"[{step.index}]"
    if step.relation == "dict_value":
        return f"[{step.label}]"
    if step.relation in {"attribute", "slot"}:
        return f".{step.label}"
    return ""
