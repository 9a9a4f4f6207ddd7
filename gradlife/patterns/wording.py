"""A pattern's sentences filled with the program's own names, as far as the trace tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradlife.model.trace import Step
from gradlife.patterns.families import family_of
from gradlife.patterns.pattern import Case, Fit

VARIABLE = re.compile(r"'([^']*)'")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Wording:
    """The words of one case, by the names that templates use."""

    def __init__(self, case: Case, fit: Fit, created_at: tuple[str, ...] = ()) -> None:
        self.case = case
        self.fit = fit
        self.created_at = created_at

    def fill(self, template: str) -> str:
        """Prose; what is not known is left out with the brackets around it."""
        text = PLACEHOLDER.sub(lambda found: str(getattr(self, found[1])), template)
        text = re.sub(r"\s+\((?:, |\s)*\)", "", text)
        return text + (f" It was made at {self.created_at[0]}." if self.created_at else "")

    def fill_code(self, template: str) -> str:
        """Lines of code: names as they are written."""
        return PLACEHOLDER.sub(lambda found: self.code_word(found[1]), template)

    def code_word(self, name: str) -> str:
        """A word without the marks of prose; braces that are code stay."""
        if not hasattr(self, name):
            return "{" + name + "}"
        return str(getattr(self, name)).strip("`")

    # --- places -------------------------------------------------------------------------------------------------------

    @property
    def holder(self) -> str:
        """What holds too much, as an expression: `state.history`."""
        return quoted(expression(self.case.steps[: self.holder_step + 1], self.holder_step))

    @property
    def holder_code(self) -> str:
        """The same in code."""
        return expression(self.case.steps[: self.holder_step + 1], self.holder_step) or "kept"

    @property
    def holder_step(self) -> int:
        """The step whose object it is: the container that grows, or where the pattern begins: of a chain the newest link."""
        if self.case.site is not None:
            return self.case.way[self.case.site].step
        at, steps = self.fit.first, self.fit.steps
        while at > 0 and (steps[at - 1].type, steps[at - 1].via) == (steps[at].type, steps[at].via):
            at -= 1
        return at

    @property
    def kept(self) -> str:
        """The tensor that is kept, as an expression: `state.loop.loss`."""
        return quoted(expression(self.fit.steps, self.tensor_step))

    @property
    def keeping(self) -> str:
        """The line that keeps a tensor, with a detached one in its place."""
        at = self.tensor_step
        if at > 0 and re.search(r"\[-?\d+\]$", self.fit.steps[at - 1].via):
            return f"{expression(self.fit.steps, at - 1) or 'kept'}.append({self.result}.detach())"
        return f"{expression(self.fit.steps, at) or 'kept'} = {self.result}.detach()"

    @property
    def tensor_step(self) -> int:
        """The first tensor from where the pattern begins."""
        numbers = range(self.fit.first, len(self.fit.steps))
        return next((at for at in numbers if step_family(self.fit.steps[at]) == "tensor"), self.fit.first)

    @property
    def tensor(self) -> str:
        """The tensor that owns hooks, as an expression."""
        return self.holder_code

    @property
    def reference(self) -> str:
        """The first reference of the stretch, with who refers."""
        step = self.first
        return f"{describe(step)}: {step.via}" if step.via else describe(step)

    @property
    def first(self) -> Step:
        """The step at which the pattern begins."""
        return self.fit.steps[self.fit.first]

    @property
    def stretch(self) -> Sequence[Step]:
        """From there to the object."""
        return self.fit.steps[self.fit.first :]

    # --- words --------------------------------------------------------------------------------------------------------

    @property
    def what(self) -> str:
        """The object at the end."""
        return f"{self.case.trace.object} {self.case.trace.detail}".strip()

    @property
    def result(self) -> str:
        """A name for what a step makes."""
        return "result"

    @property
    def owner(self) -> str:
        """The type of what refers."""
        return self.first.object

    @property
    def attribute(self) -> str:
        """The name of the attribute by which it refers."""
        names = (name for step in self.stretch for name in attribute_names(step))
        return next(names, "attribute")

    @property
    def variable(self) -> str:
        """The variable that a function, a frame or a generator keeps it in; a bound method keeps it as `self`."""
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
        """The frame that has the exception in a variable; the frames below it are only in the traceback."""
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
        """The class that was made."""
        return self.described("class")

    @property
    def class_short(self) -> str:
        """Its own name."""
        return self.class_.strip("`").rpartition(".")[2]

    @property
    def cache(self) -> str:
        """The cached function, with its line."""
        return self.described("lru")

    @property
    def registry(self) -> str:
        """Where a callback is registered."""
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
        """How many there are."""
        if not self.case.steps:
            return str(self.case.trace.ledger.count)
        lengths = (step.length for step in (self.case.steps[self.holder_step], *self.stretch))
        return str(next((length for length in lengths if length is not None), "more and more"))

    @property
    def most(self) -> str:
        """How many a cache may keep."""
        limits = (step.most for step in self.fit.steps if step.most is not None)
        return next((f"up to {limit}" for limit in limits), "without a limit")

    @property
    def unseen(self) -> str:
        """References that nothing explains."""
        return str(self.case.trace.ledger.unaccounted)

    @property
    def storage(self) -> str:
        """The size of the whole storage."""
        tensor = self.case.trace.tensor
        nbytes = tensor.storage_bytes if tensor else None
        return f"{nbytes / 1024:.0f} KiB" if nbytes else ""

    @property
    def ring(self) -> str:
        """The objects of the cycle, each type once."""
        names = list(dict.fromkeys(describe(step) for step in self.case.trace.cycle))
        return ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")

    def described(self, *families: str) -> str:
        """The first object of these families, from where the pattern begins."""
        for step in (*self.stretch, *self.fit.steps):
            if step_family(step) in families:
                return quoted(step.detail or step.object)
        return "a function" if "function" in families else ""


def step_family(step: Step) -> str:
    """The family of a step's object."""
    return family_of(step.type, step.bases, step.kind)


def describe(step: Step) -> str:
    """An object in a few words."""
    return f"{step.object} {step.detail}".strip() if step_family(step) not in {"dict", "list"} else step.object


def quoted(text: str) -> str:
    """An expression in prose."""
    return f"`{text}`" if text else "something"


def attribute_names(step: Step) -> Iterator[str]:
    """Names of attributes by which a step refers."""
    yield from re.findall(r"\.([A-Za-z_]\w*)", step.via)


def expression(steps: Sequence[Step], last: int) -> str:
    """How a program would write the object of the last of these steps: `state.history`. Empty where it could not."""
    text = ""
    for step in steps[:last]:
        part = written(step)
        text = part if not part.startswith((".", "[")) else text + part
    return text or (steps[last].detail if steps and step_family(steps[last]) in {"module", "function"} else "")


def written(step: Step) -> str:
    """One reference as code: a variable's name begins anew, an attribute or an index goes on."""
    if step.via.startswith((".", "[")):
        return step.via
    found = VARIABLE.search(step.via)
    if found and IDENTIFIER.fullmatch(found[1]) and ("variable" in step.via or "argument" in step.via):
        return found[1]
    if found and IDENTIFIER.fullmatch(found[1]) and step.via.startswith("contextvar "):
        return f"{found[1]}.get()"
    return f".{step.via}" if step.via in {"grad_fn", "grad"} else ""
