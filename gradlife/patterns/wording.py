"""Fill a pattern's sentences with the program's names from the trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradlife.model.trace import Step
from gradlife.patterns.matching.pattern import Case, Fit
from gradlife.patterns.matching.type_families import family_of

VARIABLE = re.compile(r"'([^']*)'")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Wording:
    """The words of one case, under the names that templates use."""

    def __init__(self, case: Case, fit: Fit, created_at: tuple[str, ...] = ()) -> None:
        self.case = case
        self.fit = fit
        self.created_at = created_at

    def fill(self, template: str) -> str:
        """Fill a sentence; unknown words are left out with the brackets around them."""
        text = PLACEHOLDER.sub(lambda found: str(getattr(self, found[1])), template)
        text = re.sub(r"\s+\((?:, |\s)*\)", "", text)
        return text + (f" It was made at {self.created_at[0]}." if self.created_at else "")

    def fill_code(self, template: str) -> str:
        """Fill lines of code; names without backticks."""
        return PLACEHOLDER.sub(lambda found: self.code_word(found[1]), template)

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
        return expression(self.case.steps[: self.holder_step + 1], self.holder_step) or "kept"

    @property
    def holder_step(self) -> int:
        """The step of the holder: the growing container, else the start of the pattern or the newest link of a chain."""
        if self.case.site is not None:
            return self.case.path[self.case.site].step
        at, steps = self.fit.first, self.fit.steps
        while at > 0 and (steps[at - 1].type, steps[at - 1].via) == (steps[at].type, steps[at].via):
            at -= 1
        return at

    @property
    def kept(self) -> str:
        """The kept tensor as an expression: `state.loop.loss`."""
        return quoted(expression(self.fit.steps, self.tensor_step))

    @property
    def keeping(self) -> str:
        """The line that keeps a tensor, with the tensor detached."""
        at = self.tensor_step
        if at > 0 and re.search(r"\[-?\d+\]$", self.fit.steps[at - 1].via):
            return f"{expression(self.fit.steps, at - 1) or 'kept'}.append({self.result}.detach())"
        return f"{expression(self.fit.steps, at) or 'kept'} = {self.result}.detach()"

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
    def first(self) -> Step:
        """The step at which the pattern starts."""
        return self.fit.steps[self.fit.first]

    @property
    def stretch(self) -> Sequence[Step]:
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
    def owner(self) -> str:
        """The type of the first referrer."""
        return self.first.object

    @property
    def attribute(self) -> str:
        """The attribute that holds the reference."""
        names = (name for step in self.stretch for name in attribute_names(step))
        return next(names, "attribute")

    @property
    def variable(self) -> str:
        """The variable of a function, frame or generator that holds it; `self` for a bound method."""
        for step in self.stretch:
            found = VARIABLE.search(step.via)
            if (found and "variable" in step.via) or (found and "argument" in step.via):
                return f"`{found[1]}`"
            if step.via == ".__self__":
                return "`self`"
        return ""

    @property
    def function(self) -> str:
        """The function in question, with its line."""
        return self.described("function", "method", "partial")

    @property
    def frame(self) -> str:
        """The frame in question, with its line."""
        return self.described("frame", "generator", "running")

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


def step_family(step: Step) -> str:
    """Return the family of a step's object."""
    return family_of(step.type, step.bases, step.kind)


def describe(step: Step) -> str:
    """Return an object with its detail."""
    return f"{step.object} {step.detail}".strip() if step_family(step) not in {"dict", "list"} else step.object


def quoted(text: str) -> str:
    """Return an expression in backticks."""
    return f"`{text}`" if text else "something"


def attribute_names(step: Step) -> Iterator[str]:
    """Yield the attributes by which a step refers."""
    yield from re.findall(r"\.([A-Za-z_]\w*)", step.via)


def expression(steps: Sequence[Step], last: int) -> str:
    """Return a step's object as the program would write it: `state.history`; empty if impossible."""
    text = ""
    for step in steps[:last]:
        part = written(step)
        text = part if not part.startswith((".", "[")) else text + part
    return text or (steps[last].detail if steps and step_family(steps[last]) in {"module", "function"} else "")


def written(step: Step) -> str:
    """Format one reference as code: a variable, or an attribute or index to append."""
    if step.via.startswith((".", "[")):
        return step.via
    found = VARIABLE.search(step.via)
    if found and IDENTIFIER.fullmatch(found[1]) and ("variable" in step.via or "argument" in step.via):
        return found[1]
    if found and IDENTIFIER.fullmatch(found[1]) and step.via.startswith("contextvar "):
        return f"{found[1]}.get()"
    return f".{step.via}" if step.via in {"grad_fn", "grad"} else ""
