"""What nothing reads is not piled up; the text of each change, and each refusal."""

from __future__ import annotations

import ast

import pytest

from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.unread_store import keep_newest, keep_nothing


def site(text: str, name: str, line: int) -> Site:
    tree = ast.parse(text)
    return Site(text, tree, line, name, [tree])


MADE = "class T:\n    def __init__(self):\n        self.kept = {}\n\ndef step(t, n, x):\n    {}\n"


def changed(made: str, line: str, rest: str = "", keys: list[str | int] | None = None, name: str = "kept") -> list[str]:
    """The lines that are new."""
    text = MADE.format(made, line) + rest
    found = keep_newest(site(text, name, 6), keys)
    return [row.strip() for row in (found or "").splitlines() if row not in text.splitlines()]


CLEAR = "t.kept.clear()  # nothing reads more than the last one"


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("[]", "t.kept.append(x)"),
        ("{}", "t.kept[n] = x"),
        ("set()", "t.kept.add(x)"),
        ("[]", "t.kept.extend(x.split(4))"),
        ("[]", "t.kept.insert(0, x)"),
        ("[]", "t.kept += [x, x * 2]"),
        ("{}", "t.kept.setdefault(n, x)"),
        ("collections.deque(maxlen=5000)", "t.kept.append({'x': x})"),
        ("weakref.WeakKeyDictionary()", "t.kept[x] = [x]"),
    ],
)
def test_a_container_that_nothing_reads_is_emptied_before_it_gets_more(made: str, line: str) -> None:
    assert changed(made, line) == [CLEAR]


def test_a_queue_that_nobody_empties_loses_what_is_in_it() -> None:
    wanted = ["if not t.kept.empty():", "t.kept.get_nowait()  # nothing reads more than the last one"]
    assert changed("queue.Queue()", "t.kept.put(x)") == wanted


@pytest.mark.parametrize(
    ("line", "keys", "wanted"),
    [
        ("t.kept.append(x)", [], "t.kept.append(x.detach())"),
        ("t.kept.append(x[:8])", [], "t.kept.append(x[:8].detach())"),
        ("t.kept.append({'n': n, 'x': x})", ["x"], "t.kept.append({'n': n, 'x': x.detach()})"),
        ("t.kept.append((n, x + 1))", [1], "t.kept.append((n, (x + 1).detach()))"),
        ("t.kept.insert(0, x)", [], "t.kept.insert(0, x.detach())"),
        ("t.kept += [x]", [], "t.kept += [x.detach()]"),
        ("t.kept.extend(x.split(4))", [], "t.kept.extend(one.detach() for one in x.split(4))"),
    ],
)
def test_the_newest_tensor_is_kept_without_its_graph(line: str, keys: list[str | int], wanted: str) -> None:
    assert changed("[]", line, "", keys) == [CLEAR, wanted]


def test_as_many_items_stay_as_are_read() -> None:
    reads = "def show(t):\n    if len(t.kept) >= 4: print(list(t.kept)[-3:], t.kept[-1])\n"
    assert changed("[]", "t.kept.append(x)", reads) == ["del t.kept[:-4]  # nothing reads more than the last 4"]
    assert changed("deque(maxlen=None)", "t.kept.append(x)", reads) == ["self.kept = deque(maxlen=4)"]
    assert changed("deque()", "t.kept.append(x)", reads) == ["self.kept = deque(maxlen=4)"]
    assert changed("{}", "t.kept[n] = x", reads) == []


@pytest.mark.parametrize(
    "read",
    [
        "t.kept[0]",
        "t.kept[n]",
        "t.kept[-n]",
        "t.kept[-3:-1]",
        "len(t.kept)",
        "len(t.kept) == 3",
        "for one in t.kept: pass",
        "other = t.kept",
        "return t.kept",
        "show(t.kept)",
        "show(vars(t))",
        "getattr(t, 'kept')",
        "x in t.kept",
        "t.kept.pop()",
        "torch.save(t, 'run.pt')",
        "pickle.dump(t, file)",
        "t.kept = rows",
        "t.kept *= 2",
        "last = t.kept.append(x)",
    ],
)
def test_no_change_where_something_may_read_an_old_item(read: str) -> None:
    assert changed("[]", "t.kept.append(x)", f"def other(t, n, x):\n    {read}\n") == []


def test_no_change_of_a_container_that_the_program_does_not_make_or_that_shares_its_line() -> None:
    assert changed("given", "t.kept.append(x)") == []
    assert changed("[]", "if n: t.kept.append(x)") == []
    text = "def step(x, kept=[]):\n    kept.append(x)\n"
    assert keep_newest(site(text, "kept", 2)) is None


def test_a_list_in_a_dictionary_has_its_key_as_name() -> None:
    text = "notes = {'rows': []}\nfor n in range(9):\n    notes['rows'].append(n)\n"
    wanted = text.replace("    notes", "    notes['rows'].clear()  # nothing reads more than the last one\n    notes")
    assert keep_newest(site(text, "rows", 3)) == wanted
    for read in ("print(notes)", "notes.values()", "notes.get('rows')", "print('rows')"):
        assert keep_newest(site(f"{text}{read}\n", "rows", 3)) is None


ATTRIBUTE = "def step(out, parent):\n    {}\n    return out\n"


def test_an_attribute_that_nothing_reads_gets_none() -> None:
    found = keep_nothing(site(ATTRIBUTE.format("out.parent = parent"), "parent", 2), lambda name: False)
    assert found == ATTRIBUTE.format("out.parent = None  # nothing reads it")
    found = keep_nothing(
        site(ATTRIBUTE.format("out.parent = parent.detach().clone()  # x"), "parent", 2), lambda name: False
    )
    assert found == ATTRIBUTE.format("out.parent = None  # x")


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("out.parent = make(parent)", ""),
        ("out.parent += parent", ""),
        ("out.parent, out.name = parent, 1", ""),
        ("out.parent = parent", "print(out.parent)\n"),
        ("out.parent = parent", "getattr(out, 'parent')\n"),
        ("out.parent = parent", "out.parent += 1\n"),
    ],
)
def test_no_none_where_the_attribute_is_read_or_its_value_may_have_an_effect(line: str, rest: str) -> None:
    assert keep_nothing(site(ATTRIBUTE.format(line) + rest, "parent", 2), lambda name: False) is None


def test_attributes_beside_it_get_none_and_none_does_if_a_library_may_read_one() -> None:
    text = ATTRIBUTE.format("out.parent = parent\n    out.child = parent\n    parent.child = out")
    found = keep_nothing(site(text, "parent", 2), lambda name: False)
    wanted = "out.parent = None  # nothing reads it\n    out.child = None  # nothing reads it\n    parent.child = out"
    assert found is not None
    assert wanted in found
    assert keep_nothing(site(text, "parent", 2), lambda name: name == "child") is None


def test_a_list_of_the_class_is_emptied_too() -> None:
    text = "class T:\n    kept = []\n\n    def see(self, x):\n        self.kept.append(x)\n"
    assert CLEAR.replace("t.kept", "self.kept") in str(keep_newest(site(text, "kept", 5)))
    assert keep_newest(site(text + "\nshow(T.kept)\n", "kept", 5)) is None


def test_the_last_of_a_deque_that_is_filled_from_the_left_is_its_oldest() -> None:
    assert changed("collections.deque()", "t.kept.appendleft(x)", "\nshow(t.kept[-1])\n") == []
    assert changed("[]", "t.kept.insert(0, x)", "\nshow(t.kept[-1])\n") == []


@pytest.mark.parametrize("line", ["t.kept += [x, n]", "t.kept.extend(x)", "t.kept.update(x)"])
def test_several_items_of_which_some_have_a_graph_stay(line: str) -> None:
    assert changed("[]", line, "", []) == []
    assert changed("[]", line) == [CLEAR]
