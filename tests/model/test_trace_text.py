"""A trace and a ledger as `print` shows them."""

from __future__ import annotations

from gradlife.model.trace import (
    Confidence,
    Ledger,
    Lifetime,
    NativeHolder,
    PathStep,
    Referrer,
    StepStatus,
    Trace,
)

MODULE = PathStep("module", "__main__", "root", "global variable 'history'", "attribute", StepStatus.EXPECTED)
HISTORY = PathStep("list", "len 1", "python", "[0]", "item", is_suspect=True)
TENSOR = PathStep("Tensor", "float32 [3]", "python", "", "", StepStatus.LEAKING)
LEDGER = Ledger(3, (Referrer("list", "len 1", "[0]", is_native=False),))


def test_a_held_object_is_printed_from_its_root_down() -> None:
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, (MODULE, HISTORY, TENSOR), (), LEDGER, limits=("hooks",))
    assert (
        str(trace)
        == """\
Tensor float32 [3] is held: a root reaches it
module __main__ keeps it: history[0]

┌─ module __main__   expected
│    global variable 'history'
├─ list len 1
│    [0]
╰→ Tensor float32 [3]   this object

3 references, 1 of them known:
  list len 1: [0]
  2 that nothing here explains: native code holds it
  not seen: hooks"""
    )


def test_a_cycle_is_printed_as_a_ring_with_what_hangs_on_it() -> None:
    ring = (
        PathStep("Tensor", "", "python", "grad_fn", "internal"),
        PathStep("SinBackward0", "", "grad_node", "hook 0", "internal"),
    )
    tail = (PathStep("Tensor", "", "python", ".note", "attribute"), PathStep("str", "len 3", "python", "", ""))
    trace = Trace(
        "str", "len 3", Lifetime.NEVER, (), ring, Ledger(1, ()), tail, hidden_references=("SinBackward0: hidden",)
    )
    assert (
        str(trace)
        == """\
str len 3 is never freed: no root reaches it, and the collector cannot break what keeps it
Nothing but its own cycle keeps it: Tensor → SinBackward0 → Tensor

A cycle:
┌→ Tensor
│    grad_fn
│  SinBackward0
╰─── hook 0
The cycle leads to this object:
┌─ Tensor
│    .note
╰→ str len 3

1 reference, not known:
  1 that nothing here explains: native code holds it
  SinBackward0: hidden"""
    )


def test_what_native_code_holds_is_reported_with_the_path_from_there_and_what_holds_that() -> None:
    lead = (
        PathStep("function", "pack (train.py:5)", "python", "closure variable 'pool'", "cell"),
        PathStep("list", "len 3", "python", "", ""),
    )
    holder = NativeHolder("stack of hooks in lib.so", "static", "lib.so", "hooks", Confidence.LIKELY)
    trace = Trace("list", "len 3", Lifetime.NEVER, (), (), Ledger(1, ()), lead=lead, keepers=(holder,) * 7)
    assert str(trace).splitlines()[:11] == [
        "list len 3 is held by native code: no visible root reaches it",
        "Native code holds function pack (train.py:5), which keeps it: closure variable 'pool'",
        "",
        "Native code holds the first of these:",
        "┌─ function pack (train.py:5)",
        "│    closure variable 'pool'",
        "╰→ list len 3",
        *["  it is held by stack of hooks in lib.so   likely"] * 4,
    ]
    assert "  and 2 more words of memory" in str(trace).splitlines()


def test_a_ledger_says_who_owns_the_native_object_that_holds_it() -> None:
    wrapper = Referrer("TensorImpl", "float32 [3]", "holds its wrapper", is_native=True)
    node = Referrer("MulBackward0", "", "saved tensor 'other'", is_native=True)
    assert str(Ledger(1, (wrapper,), behind=Ledger(2, (node,)))).splitlines() == [
        "1 reference, known:",
        "  TensorImpl float32 [3]: holds its wrapper",
        "2 owners of its C++ object, 1 of them known:",
        "  MulBackward0: saved tensor 'other'",
        "  1 that nothing here explains: native code holds it",
    ]


def test_what_native_code_holds_itself_says_so() -> None:
    trace = Trace("list", "len 3", Lifetime.NEVER, (), (), Ledger(1, ()))
    assert str(trace).splitlines()[1:4] == [
        "Native code holds it, and no visible object leads to it.",
        "",
        "  memory was not searched for its holders: gradlife.why(obj, scan=True)",
    ]


def test_a_search_that_found_nothing_says_so() -> None:
    trace = Trace("list", "len 3", Lifetime.NEVER, (), (), Ledger(1, (), is_scanned=True))
    assert str(trace).splitlines()[3] == "  no sure or likely holder was found in memory"


def test_an_object_that_nobody_holds_says_so() -> None:
    trace = Trace("int", "", Lifetime.UNKNOWN, (), (), Ledger(0, ()))
    assert str(trace).splitlines()[:2] == [
        "int was not found in the part of the heap that was read",
        "No visible object refers to it.",
    ]


def test_a_ledger_says_what_memory_was_found_to_hold() -> None:
    holder = NativeHolder("std::vector[3]", "static", "lib.so", "kept", Confidence.LIKELY)
    many = tuple(Referrer("dict", "", f"['{number}']", is_native=False) for number in range(11))
    assert str(Ledger(13, many, native=(holder,), is_scanned=True)).splitlines() == [
        "13 references, 11 of them known:",
        *(f"  dict: ['{number}']" for number in range(10)),
        "  and 1 more",
        "  native code: std::vector[3]   likely",
        "  1 reference without a holder in memory",
    ]
