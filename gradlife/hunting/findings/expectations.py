"""What may grow: one table, for hunts, attached processes, ranks, workers and tests alike.

A row applies if its evidence, a question about facts, says so. What holds for all rows is checked in one place, `is_sound`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gradlife.heap.diff import reference_text
from gradlife.hunting.findings.growth_facts import Facts
from gradlife.model.growth import DeclaredBound, Effect, ExpectedGrowth
from gradlife.model.hunt import BOUNDED, METRIC_STATE, Explained, Finding
from gradlife.model.trace import Lifetime
from gradlife.patterns.wording import expression
from gradlife.safe_access import LibraryObject, member

#: The row of what is a leak until it is seen to be emptied.
EMPTIED = "emptied now and then"

#: What `with pytest.raises(...) as error` gives: with the frame that has the variable `error` it makes a cycle.
RAISED_ERROR = "_pytest._code.code.ExceptionInfo"


@dataclass(frozen=True, kw_only=True)
class Expectation(ExpectedGrowth):
    """One row: something that grows, or stays, in programs that are right."""

    evidence: Callable[[Facts], bool]
    reason: Callable[[Facts], str]  # what a report says of it, after the row's name
    bound: Callable[[Facts], DeclaredBound | None] = lambda facts: None
    may_keep_graphs: bool = False  # the collector frees them, too


@dataclass(frozen=True)
class Judged:
    """What becomes of something that grows: a finding, growth that is expected, or both: a note. Neither, if the hunt itself
    keeps it.
    """

    finding: Finding | None = None
    explained: Explained | None = None

    @property
    def is_leak(self) -> bool:
        """Whether nothing expects it."""
        return self.finding is not None and self.explained is None


def judge(facts: Facts) -> Judged:
    """Ask the table about one thing that grows, or that a test left."""
    if facts.is_hunts_own:
        return Judged()
    row = first_row(facts, Effect.EXPECTED)
    if row is not None:
        return Judged(explained=explained_by(row, facts))
    note, wait = first_row(facts, Effect.NOTE), first_row(facts, Effect.WAIT)
    emptied_at = facts.emptied_at if wait is not None else ""
    if note is None:
        return Judged(replace(facts.finding, emptied_at=emptied_at))
    finding = replace(facts.finding, expectation=note.name, emptied_at=emptied_at)
    return Judged(finding, explained_by(note, facts))


def first_row(facts: Facts, effect: Effect) -> Expectation | None:
    """Return the first row with this effect that applies; None if there is none, or a check says no."""
    rows = (row for row in EXPECTATIONS if row.effect is effect and row.evidence(facts))
    row = next(rows, None)
    return row if row is not None and is_sound(row, facts) else None


def is_sound(row: Expectation, facts: Facts) -> bool:
    """Whether growth may be expected at all: it keeps no graphs, and memory suffices for a bound that it has not passed."""
    if facts.finding.per_step.keeps_graphs and not row.may_keep_graphs:
        return False
    bound = row.bound(facts)
    return bound is None or (bound.is_kept and facts.has_room_for(bound))


def explained_by(row: Expectation, facts: Facts) -> Explained:
    """Return what a report says."""
    nbytes = facts.release.bytes if facts.release is not None else facts.finding.retained_bytes
    return Explained(row.name, row.reason(facts), nbytes)


def row_named(name: str) -> Expectation:
    """Return the row of this name."""
    return next(row for row in EXPECTATIONS if row.name == name)


# --- what reports say ----------------------------------------------------------------------------------------------------


def place(facts: Facts) -> str:
    """Return the place that grows as the program writes it, else its path."""
    steps = facts.steps[: facts.at + 1]
    return expression(steps, len(steps) - 1) or reference_text(steps)


def compiled_again(facts: Facts) -> str:
    """Say that known functions are compiled again, and how often that may happen."""
    config: LibraryObject = member("torch._dynamo", "config")
    most = getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", None)
    end = f", {most} of a function at most" if isinstance(most, int) else ""
    return f"torch.compile makes new versions of the same functions in every round{end}"


def released(facts: Facts) -> str:
    """Say how often what finished steps keep is released."""
    period = facts.release.period if facts.release is not None else 0
    return f"{place(facts)}: let go {f'every {period} steps' if period else 'now and then'}, and taken again"


EXPECTATIONS: tuple[Expectation, ...] = (
    Expectation(
        name="value of an expression",
        applies="a list, a dict or the like that an expression is building, such as a comprehension: no name holds it yet",
        evidence=lambda facts: facts.is_in_expression,
        reason=lambda facts: f"{facts.steps[0].object} {facts.steps[0].detail} builds a {facts.steps[facts.at].object}",
        leak="comprehension_of_graphs",
        alike="comprehension",
    ),
    Expectation(
        name="larger in each step",
        applies="a variable that each step replaces with something larger, made without the old value, such as a longer batch",
        evidence=lambda facts: facts.is_replaced,
        reason=lambda facts: f"{place(facts)}: replaced at each step by a larger one that is not made of it",
        leak="longer_bank",
        alike="longer_batch",
    ),
    Expectation(
        name="compile cache",
        applies="caches of `torch.compile`, if each round only compiled new versions of known functions",
        evidence=lambda facts: facts.is_compiled_again and facts.is_of_compiler,
        reason=compiled_again,
        leak="compiled_new_function",
        alike="compiled_new_shape",
        ends="`recompile_limit`",
    ),
    Expectation(
        name="kept for some steps",
        applies="memory of finished steps that is released together, as in truncated back-propagation and gradient accumulation",
        evidence=lambda facts: facts.release is not None,
        reason=released,
        leak="losses_never_released",
        alike="loss_released_every_few_steps",
    ),
    Expectation(
        name="state of the next step",
        applies=(
            "what a finished step left in an attribute, if the next step computes its own from it, as from a recurrent state "
            "that is detached when it is read"
        ),
        evidence=lambda facts: bool(facts.carried_at),
        reason=lambda facts: f"{place(facts)}: {facts.carried_at} computes the next from it",
        leak="attribute_of_a_hook",
        alike="state_of_a_module",
    ),
    Expectation(
        name=BOUNDED,
        applies=(
            "a `deque(maxlen=...)`, an `lru_cache(maxsize=...)`, a queue with a size, a list or an array of a fixed size "
            "(`[None] * 1000`), several bounded deques in a container that gets no more of them; and what the program limits "
            "(`if len(rows) < most:`, `while len(rows) > most:`) or cuts to its newest items (`del rows[:-1000]`)"
        ),
        evidence=lambda facts: facts.bound is not None,
        reason=lambda facts: f"{place(facts)} is {facts.bound}",
        leak="deque_that_memory_cannot_hold",
        alike="deque_not_full",
        bound=lambda facts: facts.bound,
        ends="what is declared",
    ),
    Expectation(
        name="optimizer state",
        applies="entries in the state of an optimizer for parameters that are older than the growth, as in late unfreezing",
        evidence=lambda facts: facts.is_state_of_old_parameters,
        reason=lambda facts: f"{place(facts)}: parameters get their first step",
        leak="optimizer_gets_new_parameters",
        alike="optimizer_unfreezes_parameters",
        ends="one entry for each parameter",
    ),
    Expectation(
        name="gradient",
        applies="the gradient, without a graph, of a tensor that is older than the growth",
        evidence=lambda facts: facts.is_gradient_of_old_tensor,
        reason=lambda facts: f"{place(facts)}: parameters get their first gradient",
        leak="gradients_of_new_tensors",
        alike="first_gradients",
        ends="one for each parameter",
    ),
    Expectation(
        name="table of a library",
        applies=(
            "a table of Python or of torch that no object of the program leads to, such as the source lines of generated code; "
            "if it grows in each round, only small data"
        ),
        evidence=lambda facts: facts.is_in_library_table,
        reason=lambda facts: f"module {facts.steps[0].module}: {reference_text(facts.steps)}",
        leak="logging_handler",
        alike="source_lines",
    ),
    Expectation(
        name="cache that fills",
        applies="what gets less in every round, because its keys repeat",
        evidence=lambda facts: facts.is_slowing,
        reason=lambda facts: f"{place(facts)} gets less in every round",
        leak="dict_of_new_keys",
        alike="dict_of_repeating_keys",
    ),
    Expectation(
        name="results of an evaluation",
        applies="what the program gathers after its last step, and reads as a whole once",
        evidence=lambda facts: bool(facts.read_at),
        reason=lambda facts: f"{place(facts)}: {facts.read_at} reads all of it",
        leak="outputs_of_requests",
        alike="outputs_of_evaluation",
    ),
    Expectation(
        name="kept until the collector runs",
        applies="the error of `pytest.raises`, which is in a cycle with the test's frame",
        evidence=lambda facts: (
            facts.finding.lifetime is Lifetime.GC and any(step.is_a(RAISED_ERROR) for step in facts.finding.trace.cycle)
        ),
        reason=lambda facts: "the error of pytest.raises",
        may_keep_graphs=True,
        leak="test_with_cycle",
        alike="test_with_raises",
    ),
    Expectation(
        name="too small to assign to a test",
        applies="some kB that native code holds: smaller amounts are not searched for before a test",
        evidence=lambda facts: facts.is_undated,
        reason=lambda facts: "held by native code",
        leak="test_native_code_keeps_a_tensor",
        alike="test_native_code_keeps_very_little",
    ),
    Expectation(
        name=METRIC_STATE,
        applies=(
            "what an object with `update`, `compute` and `reset` keeps until its `reset()`, unless the program computes it again "
            "and again and never resets it"
        ),
        evidence=lambda facts: facts.is_state_of_metric,
        reason=lambda facts: f"{place(facts)}: its reset() empties it",
        leak="metric_never_reset",
        alike="metric",
        effect=Effect.NOTE,
    ),
    Expectation(
        name=EMPTIED,
        applies=(
            "what a statement of the program may empty later, at the end of an epoch: a leak, until later snapshots show that it "
            "is emptied"
        ),
        evidence=lambda facts: bool(facts.emptied_at),
        reason=lambda facts: f"{place(facts)}: {facts.emptied_at} empties it, and it grows again",
        leak="list_cleared_at_the_end",
        alike="list_cleared_each_epoch",
        effect=Effect.WAIT,
    ),
)
