"""Fill a pattern's sentences with the program's names from the trace."""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import re
from collections.abc import Collection, Sequence

from gradlife.model.trace import PathStep, is_scalar_detail
from gradlife.patterns.matching.pattern import Case, Fit
from gradlife.patterns.matching.type_families import family_of
from gradlife.patterns.stored_statement import StoredStatement

PLACEHOLDER = re.compile(r"\{(\w+)\}")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

UNKNOWN_STATEMENT = StoredStatement()

#: A frame of another thread, and where it stands.
WAITS = re.compile(r"\((?P<file>[^()]+):(?P<line>\d+)\), thread ")

#: A call that waits for an event or for the next item of a queue.
WAITING_CALL = re.compile(r"(?P<owner>[A-Za-z_][\w.]*)\.(?P<method>wait|get)\(")

#: A holder for which the program has no expression.
UNKNOWN_HOLDER = "kept"
UNKNOWN_OBJECT = "something"

#: Modules that lines of code may name without importing them.
MODULES = frozenset({"torch", "functools", "collections", "weakref", "copy", "queue", "logging", "atexit"})
#: How the label of a reference to the value of a context variable begins.
CONTEXT_VARIABLE = "contextvar "

#: The number of steps from one object of a chain to the next: 1, or 2 with a container between them.
LINKS = (1, 2)

#: How a program puts a value into a container, and how it writes a container inside another.
COLLECTING = {
    "list": ".append({})",
    "deque": ".append({})",
    "set": ".add({})",
    "dict": "[key] = {}",
    "tuple": ".append({})",
}
INNER = {"list": "[-1]", "deque": "[-1]", "set": "", "dict": "[key]"}


class Wording:
    """The words of one case, under the names that templates use."""

    def __init__(
        self,
        case: Case,
        fit: Fit,
        created_at: tuple[str, ...] = (),
        statement: StoredStatement = UNKNOWN_STATEMENT,
    ) -> None:
        self.case = case
        self.fit = fit
        self.created_at = created_at
        self.statement = statement

    def fill(self, template: str) -> str:
        """Fill a sentence; unknown words are left out with the brackets around them."""
        text = PLACEHOLDER.sub(lambda found: str(getattr(self, found[1])), template)
        text = re.sub(r"\s+\((?:, |\s)*\)", "", text)
        return text + (f" It was made at {self.created_at[0]}." if self.created_at else "")

    def fill_code(self, template: str) -> str:
        """Fill lines of code; names without backticks."""
        return PLACEHOLDER.sub(lambda found: self.code_word(found[1]), template)

    def fill_change(self, template: str) -> str:
        """Fill a change of the statement that stores; empty if the statement has no word for one of the placeholders."""
        found = {name: self.change_word(name) for name in PLACEHOLDER.findall(template)}
        return PLACEHOLDER.sub(lambda one: found[one[1]], template) if all(found.values()) else ""

    def change_word(self, name: str) -> str:
        """Return a word about the statement, else one about the trace."""
        return str(getattr(self.statement, name, "")) if hasattr(self.statement, name) else self.code_word(name)

    def is_example(self, code: str) -> bool:
        """Whether lines of code have names that are not the program's, so that nobody can paste them."""
        roots = {self.holder_code, self.kept.strip("`"), expression(self.fit.steps, self.fit.first)}
        known = {re.split(r"\W", root)[0] for root in roots - {UNKNOWN_HOLDER, UNKNOWN_OBJECT}}
        return bool(code) and has_other_names(code, self.statement.names | known)

    def code_word(self, name: str) -> str:
        """Return a word without backticks; literal braces stay."""
        if not hasattr(self, name):
            return "{" + name + "}"
        return str(getattr(self, name)).strip("`")

    # --- places -------------------------------------------------------------------------------------------------------

    @property
    def holder(self) -> str:
        """The holder as an expression: `state.history`."""
        return quoted(expression(self.case.steps[: self.holder_step + 1], self.holder_step))

    @property
    def holder_code(self) -> str:
        """The holder as written in a line of code."""
        return expression(self.case.steps[: self.holder_step + 1], self.holder_step) or UNKNOWN_HOLDER

    @property
    def clearing(self) -> str:
        """The line that empties the holder. A tuple is replaced."""
        if step_family(self.case.steps[self.holder_step]) != "tuple":
            return f"{self.holder_code}.clear()"
        variable = self.holder_code.removesuffix(".get()")
        return f"{variable}.set(())" if variable != self.holder_code else f"{variable} = ()"

    @property
    def reading(self) -> str:
        """A sentence about what the program reads later; empty if it reads the newest items at most."""
        return f" {self.statement.read_at} reads them: see what it needs." if self.statement.read_at else ""

    @property
    def emptying(self) -> str:
        """The lines that empty a file in memory; empty if another object refers to it, and may write to it at an offset."""
        is_shared = len(self.case.trace.ledger.referrers) > 1
        lines = f"{self.holder_code}.seek(0)  # when its content is needed no longer\n{self.holder_code}.truncate()"
        return "" if is_shared else lines

    @property
    def leaving(self) -> str:
        """The method that takes one item out of the holder: `self.tasks.discard`."""
        family = step_family(self.case.steps[self.holder_step])
        return f"{self.holder_code}.{'discard' if family == 'set' else 'remove'}"

    @property
    def bounding(self) -> str:
        """The statement that adds to the holder, with one that removes the oldest items; else a line that bounds it."""
        family = step_family(self.case.steps[self.holder_step])
        if self.statement.read_at:
            return ""
        if family == "list":
            return self.statement.bounded or f"del {self.holder_code}[:-100]  # after each append"
        return f"{self.holder_code} = collections.deque(maxlen=100)  # where it is made"

    @property
    def holder_step(self) -> int:
        """The step of the holder: the growing container, else the start of the pattern or the newest link of a chain."""
        if self.case.site is not None:
            return self.case.path[self.case.site].step
        at, steps = self.fit.first, self.fit.steps
        while link := next((one for one in LINKS if at >= one and is_same_place(steps[at - one], steps[at])), 0):
            at -= link
        return at

    @property
    def kept(self) -> str:
        """The kept tensor as an expression: `state.loop.loss`."""
        return quoted(expression(self.fit.steps, self.tensor_step))

    @property
    def keeping(self) -> str:
        """The line that keeps a tensor, with the tensor detached."""
        at = self.tensor_step
        if at > 0 and [hop.relation for hop in self.fit.steps[at - 1].hops[-1:]] == ["item"]:
            return f"{expression(self.fit.steps, at - 1) or UNKNOWN_HOLDER}.append({self.result}.detach())"
        return f"{expression(self.fit.steps, at) or UNKNOWN_HOLDER} = {self.result}.detach()"

    @property
    def detaching_state(self) -> str:
        """The line that detaches the holder, or each tensor of it if it is an item of a tuple."""
        at = self.holder_step
        around = (
            expression(self.case.steps[:at], at - 1) if at and step_family(self.case.steps[at - 1]) == "tuple" else ""
        )
        if around:
            return f"{around} = tuple(one.detach() for one in {around})"
        return f"{self.holder_code} = {self.holder_code}.detach()"

    @property
    def collecting_number(self) -> str:
        """The line that collects a result as a number."""
        return self.collecting(f"{self.result}.item()")

    @property
    def collecting_detached(self) -> str:
        """The line that collects a result without its graph."""
        return self.collecting(f"{self.result}.detach()")

    @property
    def collecting_clone(self) -> str:
        """The line that collects a result, with a copy that owns its storage."""
        return self.collecting(f"{self.result}.clone()")

    @property
    def collecting_copy(self) -> str:
        """The line that collects a result, as an array with memory of its own."""
        return self.collecting(f"{self.result}.copy()")

    def collecting(self, value: str) -> str:
        """Return the line that puts a value into the holder, through the containers inside it: `d[key].append(value)`."""
        families = list(
            itertools.takewhile(COLLECTING.__contains__, map(step_family, self.case.steps[self.holder_step :]))
        )
        named = [one for one in families if one != "tuple"] or ["list"]
        place = self.holder_code + "".join(INNER[one] for one in named[:-1])
        return place + COLLECTING[named[-1]].format(value)

    @property
    def tensor_step(self) -> int:
        """The first tensor after the start of the pattern."""
        numbers = range(self.fit.first, len(self.fit.steps))
        return next((at for at in numbers if step_family(self.fit.steps[at]) == "tensor"), self.fit.first)

    @property
    def tensor(self) -> str:
        """The tensor that owns the hooks, as an expression."""
        return self.holder_code

    @property
    def reference(self) -> str:
        """The first suspect reference, with its referrer."""
        step = self.first
        return f"{describe(step)}: {step.via}" if step.via else describe(step)

    @property
    def first(self) -> PathStep:
        """The step at which the pattern starts."""
        return self.fit.steps[self.fit.first]

    @property
    def stretch(self) -> Sequence[PathStep]:
        """The steps from the start of the pattern to the object."""
        return self.fit.steps[self.fit.first :]

    # --- words --------------------------------------------------------------------------------------------------------

    @property
    def what(self) -> str:
        """The kept object."""
        return f"{self.case.trace.object} {self.case.trace.detail}".strip()

    @property
    def result(self) -> str:
        """A variable name for the result of a step."""
        return "result"

    @property
    def without_graph(self) -> str:
        """The statement that stores a tensor, with a number in its place if it has one element."""
        kept = self.fit.steps[self.tensor_step] if self.fit.steps else None
        is_one = kept is not None and is_scalar_detail(kept.detail)
        return (self.statement.number if is_one else "") or self.statement.detached

    @property
    def owner(self) -> str:
        """The type of the first referrer; if the state of a metric grows, the type of the metric."""
        return self.case.steps[self.holder_step - 1].object if self.case.growth.is_state else self.first.object

    @property
    def owner_code(self) -> str:
        """The object whose attribute is the holder, as written in a line of code."""
        return expression(self.case.steps[: self.holder_step], self.holder_step - 1) or "metric"

    @property
    def attribute(self) -> str:
        """The attribute that holds the reference."""
        names = (name for step in self.stretch for name in step.attributes)
        return next(names, "attribute")

    @property
    def variable(self) -> str:
        """The variable of a function, frame or generator that holds it; `self` for a bound method."""
        names = (step.variable or ("self" if "__self__" in step.attributes else "") for step in self.stretch)
        return next((f"`{name}`" for name in names if name), "")

    @property
    def function(self) -> str:
        """The function in question, with its line."""
        return self.described("function", "method", "partial")

    @property
    def frame(self) -> str:
        """The frame in question, with its line."""
        return self.described("frame", "generator", "greenlet", "running")

    @property
    def ending(self) -> str:
        """Where a thread waits, and what ends it there."""
        if any(step.is_a("threading.Timer") for step in self.case.steps):
            return "It is a timer that has not fired: call its `cancel()` when it is needed no longer."
        found = (WAITS.search(one.detail) for one in self.case.trace.ledger.referrers)
        place = next((one for one in found if one is not None), None)
        source = linecache.getline(place["file"], int(place["line"])).strip() if place is not None else ""
        where = f"It waits at {place['file']}:{place['line']}" if place is not None else "It has not ended"
        return f"{where}{f': `{source}`' if source else ''}. {end_of_waiting(source)}"

    @property
    def catching(self) -> str:
        """The frame whose variable holds the exception; the frames below it are only in the traceback."""
        steps = self.stretch
        for step, after in zip(steps, [*steps[1:], *steps[:1]], strict=True):
            if step_family(step) == "frame" and step_family(after) == "exception":
                return quoted(step.detail or step.object)
        return self.frame

    @property
    def exception(self) -> str:
        """The exception's type."""
        return self.described("exception")

    @property
    def class_(self) -> str:
        """The class that each call creates."""
        return self.described("class")

    @property
    def class_short(self) -> str:
        """The class's name without its module."""
        return self.class_.strip("`").rpartition(".")[2]

    @property
    def cache(self) -> str:
        """The cached function, with its line."""
        return self.described("lru")

    @property
    def registry(self) -> str:
        """The registry of the callback."""
        return self.first.via or self.first.object

    @property
    def node(self) -> str:
        """The grad node in question."""
        tensor = self.case.trace.tensor
        nodes = (
            step.object for step in (*self.stretch, *self.case.trace.cycle) if step_family(step) in {"node", "ctx"}
        )
        return next(nodes, tensor.grad_fn if tensor else "")

    @property
    def count(self) -> str:
        """The number of items in the holder."""
        if not self.case.steps:
            return str(self.case.trace.ledger.count)
        lengths = (step.length for step in (self.case.steps[self.holder_step], *self.stretch))
        return str(next((length for length in lengths if length is not None), "more and more"))

    @property
    def most(self) -> str:
        """The limit of a cache."""
        limits = (step.most for step in self.fit.steps if step.most is not None)
        return next((f"up to {limit}" for limit in limits), "without a limit")

    @property
    def unseen(self) -> str:
        """The number of unaccounted references."""
        return str(self.case.trace.ledger.unaccounted)

    @property
    def storage(self) -> str:
        """The size of the whole storage."""
        tensor = self.case.trace.tensor
        nbytes = tensor.storage_bytes if tensor else None
        return f"{nbytes / 1024:.0f} KiB" if nbytes else ""

    @property
    def cycle(self) -> str:
        """The objects of the cycle, each once."""
        names = list(dict.fromkeys(describe(step) for step in self.case.trace.cycle))
        return ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")

    def described(self, *families: str) -> str:
        """Return the first object of these families after the start of the pattern."""
        for step in (*self.stretch, *self.fit.steps):
            if step_family(step) in families:
                return quoted(step.detail or step.object)
        return "a function" if "function" in families else ""


def end_of_waiting(source: str) -> str:
    """What makes a thread go on after the line at which it waits."""
    found = WAITING_CALL.search(source)
    if found is None:
        return "Let its function return: set a stop event that its loop checks, or put a sentinel into its queue."
    if found["method"] == "wait":
        return f"Call `{found['owner']}.set()` when it may end."
    return f"Put a sentinel into `{found['owner']}`, such as None, and return when it comes."


def has_other_names(code: str, known: Collection[str]) -> bool:
    """Whether code reads variables that are neither known nor made by itself; True if it does not parse."""
    try:
        tree = ast.parse(f"{code}\ndef decorated(): ..." if code.startswith("@") else code)
    except SyntaxError:
        return True
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    made |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return not read <= {*known, *made, *MODULES, *dir(builtins)}


def is_same_place(one: PathStep, other: PathStep) -> bool:
    """Whether both steps are objects of the same type that refer to the next one by the same attribute or item."""
    return (one.type, one.reference) == (other.type, other.reference)


def step_family(step: PathStep) -> str:
    """Return the family of a step's object."""
    return family_of(step.type, step.bases, step.kind)


def describe(step: PathStep) -> str:
    """Return an object with its detail."""
    return f"{step.object} {step.detail}".strip() if step_family(step) not in {"dict", "list"} else step.object


def quoted(text: str) -> str:
    """Return an expression in backticks."""
    return f"`{text}`" if text else UNKNOWN_OBJECT


def expression(steps: Sequence[PathStep], last: int) -> str:
    """Return a step's object as the program would write it: `state.history`; empty if impossible."""
    text = ""
    for step in steps[:last]:
        part = written(step)
        text = part if not part.startswith((".", "[")) else text + part
    return text or (steps[last].detail if steps and step_family(steps[last]) in {"module", "function"} else "")


def written(step: PathStep) -> str:
    """Format one reference as code: a variable, or an attribute or index to append."""
    last = step.hops[-1].label if step.hops else ""
    name = last.removeprefix(CONTEXT_VARIABLE).strip("'") if last.startswith(CONTEXT_VARIABLE) else ""
    if IDENTIFIER.fullmatch(name):
        return f"{name}.get()"
    if step.argument:
        return f"[{step.hops[-1].index}]" if step.hops else ""
    if step.variable:
        return step.variable if IDENTIFIER.fullmatch(step.variable) else ""
    if step.via.startswith((".", "[")):  # written as code
        return step.via
    return f".{last}" if last in {"grad_fn", "grad"} else ""
