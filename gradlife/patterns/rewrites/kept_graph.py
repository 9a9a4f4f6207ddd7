"""Detach a kept tensor from its graph: `self.total = self.total + loss` adds `loss.detach()`.

The numbers stay the same. It is safe only if nothing uses the kept tensor's graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from gradlife.patterns.rewrites.reads import Reader, is_like, name_of
from gradlife.source.edits import Edit, called_on, edited, is_plain

DETACH = ".detach()"

#: Values that are certainly no tensors: a tuple of tensors is stored in another way.
NO_TENSORS = (
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Lambda,
    ast.DictComp,
    ast.ListComp,
    ast.SetComp,
    ast.GeneratorExp,
)


def without_graph(text: str, tree: ast.Module, line: int, name: str, trees: Iterable[ast.Module]) -> str | None:
    """Return the changed source; None if the line is no such assignment, or if the program in these trees may notice.

    ``tree`` is parsed from the text, and one of the trees.
    """
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AugAssign) and node.lineno == line]
    target = only_target(found[0]) if len(found) == 1 else None
    if target is None or name_of(target) != name:
        return None
    edits, reader = detaching(found[0], target), Reader(trees)
    is_safe = edits and reader.is_blind(target, found) and not reader.may_be_constant(found[0].value)
    return edited(text, edits) if is_safe else None


def only_target(node: ast.Assign | ast.AugAssign) -> ast.expr | None:
    """Return the only target of an assignment; None if there are several."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return targets[0] if len(targets) == 1 else None


def detaching(node: ast.Assign | ast.AugAssign, target: ast.expr) -> Sequence[Edit]:
    """Return the edits that detach the tensor in the statement; none if several parts may be the tensor."""
    if not isinstance(node, ast.AugAssign) and isinstance(node.value, ast.IfExp):
        each = [detaching(ast.Assign([target], one), target) for one in (node.value.body, node.value.orelse)]
        return [edit for edits in each for edit in edits] if all(each) else ()
    if isinstance(node, ast.AugAssign):
        parts = operands(node.value)
    elif any(is_like(part, target) for part in ast.walk(node.value)):
        parts = [one for one in operands(node.value) if not is_like(one, target)]
    else:
        parts = [] if isinstance(node.value, NO_TENSORS) else [node.value]
    tensors = [one for one in parts if not is_plain(one)]
    if len(tensors) != 1 or any(is_like(part, target) for part in ast.walk(tensors[0])):
        return ()
    return tuple(called_on(tensors[0], DETACH))


def operands(node: ast.expr) -> list[ast.expr]:
    """Return the operands of sums and products, flattened."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return [*operands(node.left), *operands(node.right)]
    return [node]
