"""The GL4xx patterns: training code that keeps autograd graphs.

A row begins with a GL code, a title, the reason for the leak, the advice, and code that follows the advice. `Pattern`
describes the other fields. In sentences and code, `gradlife/patterns/wording.py` fills in the names in braces, such as
`{holder}`. `paths` are written in a small language of their own: `"@ {growing} {inside}~ =tensor$"` matches a growing
holder (`@`), any number of containers in it (`~`), and a tensor at the end (`$`); `|` separates alternatives.
`gradlife/patterns/matching/matcher.py` describes all of it. The first row that matches a trace is used. An `example` is
a trace that matches; it begins at a root, such as a module, or at the `state` that a hunted function gets in each step.
"""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.patterns.matching.chains import is_running_total, is_state_chain, is_weight_chain
from gradlife.patterns.matching.pattern import Case, Pattern

GROWTH = frozenset({FindingKind.GROWTH})


def has_graph(case: Case) -> bool:
    """Whether the kept object has a graph."""
    return case.has_graph


GRAPH_PATHS = (
    Pattern(
        "GL402",
        "stored results keep their graphs",
        "{holder} gets a result of each step that still has its graph ({node}). The graph keeps what it saved: activations "
        "and inputs.",
        "Store numbers: .item() for a scalar, .detach() for a tensor.",
        "{collecting_number}    # a number\n{collecting_detached}  # or a tensor without its graph",
        change="{without_graph}",
        paths=("@ {growing}|cycle.item {inside}~ tensor.grad_fn ...", "@ {growing}|cycle.item {inside}~ =tensor$"),
        when=has_graph,
        kinds=GROWTH,
        links=("wandb/wandb#354", "https://pytorch.org/docs/stable/notes/faq.html"),
        example="module train global variable 'losses' → list [41] → Tensor (MseLossBackward0)",
    ),
    Pattern(
        "GL403",
        "a running total has a graph",
        "Each step adds a tensor with a graph to {holder}. Its grad_fn, a chain of AddBackward0, holds the graph of every step "
        "so far.",
        "Add the number, not the tensor.",
        "{holder_code} += loss.item()",
        change="{detached}",
        paths=("tensor.grad_fn ...", "=tensor$"),
        when=is_running_total,
        kinds=GROWTH,
        links=("pytorch/pytorch#1840", "pytorch/pytorch#17568", "https://pytorch.org/docs/stable/notes/faq.html"),
        example="state .total → Tensor grad_fn → AddBackward0 → AddBackward0 → AddBackward0 → …",
    ),
    Pattern(
        "GL408",
        "weight updates form one graph",
        "Each step replaces {holder} by a result computed from it ({node}), so its graph holds every earlier update.",
        "Detach the updated tensor and call requires_grad_() again. If an inner loop updates it, detach it after that loop.",
        "{holder_code} = updated.detach().requires_grad_()",
        change="{leaf}",
        paths=("tensor.grad_fn ...", "=tensor$"),
        when=is_weight_chain,
        kinds=GROWTH,
        links=("facebookresearch/higher#48", "pytorch/functorch#639"),
        example="state .fast → dict ['w'] → Tensor grad_fn → SubBackward0 → SubBackward0 → …",
    ),
    Pattern(
        "GL404",
        "a carried state is not detached",
        "Each step computes {holder} from its previous value ({node}), with a graph. The graph leads through all earlier "
        "steps and keeps what each of them saved.",
        "Detach the state between steps.",
        "{detaching_state}",
        change="{carried}",
        paths=("tensor.grad_fn ...", "=tensor$"),
        when=is_state_chain,
        kinds=GROWTH,
        links=("pytorch/pytorch#2198", "pytorch/pytorch#1536"),
        example="state .hidden → tuple [1] → Tensor grad_fn → AddBackward0 → MulBackward0 → … → AddBackward0 → MulBackward0",
    ),
    Pattern(
        "GL407",
        "a graph keeps a leaf",
        "This leaf is alive only because {holder} holds a graph that accumulates into it.",
        "Drop the graph: detach what {holder} keeps.",
        "",
        paths=("tensor.grad_fn ... node.variable =tensor$",),
        kinds=frozenset({FindingKind.RETAINED}),
        example="state .loss → Tensor grad_fn → MulBackward0 next edge → AccumulateGrad variable → Tensor",
    ),
    Pattern(
        "GL409",
        "the last step's graph is still held",
        "{kept} is the result of a finished step and still has its graph ({node}). During the next step both graphs are "
        "alive.",
        "Keep a number or a detached tensor, or delete the result before the next forward pass.",
        "{keeping}",
        change="{detached}",
        paths=("tensor.grad_fn ...", "object.attr|nn.attr|*.global|*.local|dict.value|*.item|*.attr =tensor$"),
        when=has_graph,
        kinds=frozenset({FindingKind.RETAINED}),
        links=("Lightning-AI/pytorch-lightning#9336",),
        example="state .loop → Loop .result → Result .loss → Tensor grad_fn → MeanBackward0 → …",
    ),
)
