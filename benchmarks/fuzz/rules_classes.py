"""Rules about subclasses of Tensor: leaves, results, and queries about their classes."""

from __future__ import annotations

from benchmarks.fuzz.draft import Draft, Kind
from benchmarks.fuzz.grammar import rule

CLASSES = ("subclass(lab)", "subclass(lab)", "subclass(lab)", "subclass(lab, 'Under')", "subclass(lab, 'Off')")
NUMBERS = "fw.tensor([0.5, 2.0], dtype=fw.float64)"
LEAVES = (
    "{numbers}.as_subclass({cls}).requires_grad_()",
    "{numbers}.requires_grad_().as_subclass({cls})",
    "fw.Tensor._make_subclass({cls}, {numbers}, True)",
    "{cls}([0.5, 2.0]).requires_grad_()",
    "{numbers}.as_subclass({cls})",
)
QUESTIONS = (
    "type({t})", "type({t}.grad)", "type({t}._base)", "type({t}.data)", "type({t}.detach())", "type({t} + 1)",
    "type({t}.grad_fn.next_functions[0][0].variable)", "type({t}.grad_fn._saved_self)",
    "type({t}.grad_fn._saved_result)", "type({t}.unbind()[0])",
)  # fmt: skip


@rule(3)
def leaf_of_a_subclass(draft: Draft) -> str | None:
    text = draft.pick(LEAVES)
    kind = Kind(1, "requires_grad" in text or "True" in text, "view" if text.endswith("as_subclass({cls})") else "leaf")
    return draft.bind(text.format(cls=draft.pick(CLASSES), numbers=NUMBERS), kind)


@rule(1.5)
def made_a_subclass(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    kind = draft.tensors[name]
    return draft.bind(f"{name}.as_subclass({draft.pick(CLASSES)})", Kind(kind.dims, kind.needs_grad, "view"))


@rule(1.5)
def class_asked(draft: Draft) -> str | None:
    name = draft.tensor()
    return None if name is None else f"lab.value('class', {draft.pick(QUESTIONS).format(t=name)}.__name__)"
