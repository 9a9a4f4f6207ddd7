from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from dot_parser import Graph, parse
from gradlife.model.neighbourhood import Neighbour, Neighbourhood, Role, Tie
from gradlife.model.trace import Lifetime
from gradlife.reports.formats.dot.neighbourhood import SUSPECT, dot_text

MODULE = Neighbour(1, "module", "__main__", "python", Role.ROOT, 80, 9_000_000)
LIST = Neighbour(2, "list", "len 3", "python", Role.PATH, 80, 4_000_000)
TENSOR = Neighbour(3, "Tensor", "float32 []", "python", Role.TARGET, 80, 1_000_000)
NODE = Neighbour(4, "SumBackward0", "", "grad_node", Role.KEPT, 80, 200)
UNSEEN = Neighbour(-1, "native code", "2 references that nothing here explains", "native", Role.UNSEEN)
HELD = Neighbourhood(
    "Tensor float32 []",
    Lifetime.HELD,
    (MODULE, LIST, TENSOR, NODE, UNSEEN),
    (
        Tie(1, 2, "global variable 'history'"),
        Tie(2, 3, "[2]", is_suspect=True),
        Tie(3, 4, "grad_fn", is_native=True),
        Tie(-1, 3, "", is_native=True),
    ),
    more_referrers=2,
    more_referents=1,
)
EVIL = 'a"b\\c\\N\\";}]\n<b>&\x00\x1b\u2028\udc80 ->'


def named(text: str) -> Neighbourhood:
    """A neighbourhood in which everything bears this name."""
    one = Neighbour(1, text, text, "python", Role.TARGET, 1, 5000)
    return Neighbourhood(text, Lifetime.GC, (one,), (Tie(1, 1, text, is_suspect=True),))


def drawn(text: str, kind: str) -> bytes:
    """Return the picture that graphviz draws of a text."""
    if shutil.which("dot") is None:
        pytest.skip("graphviz's dot is not here: pictures were not drawn")
    done = subprocess.run(
        ["dot", f"-T{kind}"], input=text.encode("utf-8"), capture_output=True, check=True, timeout=900
    )
    assert done.stderr == b""
    return done.stdout


def test_each_object_is_a_box_and_each_reference_an_arrow() -> None:
    graph = parse(dot_text(HELD))
    assert {name: looks["label"] for name, looks in graph.nodes.items()} == {
        "n1": "module\n__main__",
        "n2": "list\nlen 3\nkeeps 4 MB",
        "n3": "Tensor\nfloat32 []\nkeeps 1 MB",
        "n4": "SumBackward0",
        "unseen": "native code\n2 references that nothing here explains",
    }
    assert [(source, target, looks["label"]) for source, target, looks in graph.arrows] == [
        ("n1", "n2", "global variable 'history'"),
        ("n2", "n3", "[2]"),
        ("n3", "n4", "grad_fn"),
        ("unseen", "n3", ""),
    ]


def test_suspect_references_are_marked_and_native_ones_are_dashed() -> None:
    arrows = parse(dot_text(HELD)).arrows
    assert [(looks.get("color") == SUSPECT, looks.get("style", "")) for _, _, looks in arrows] == [
        (False, ""),
        (True, ""),
        (False, "dashed"),
        (False, "dashed"),
    ]


def test_the_target_the_root_and_what_is_not_seen_look_different() -> None:
    nodes = parse(dot_text(HELD)).nodes
    assert len({(looks["fillcolor"], looks["color"], looks["style"]) for looks in nodes.values()}) == 5
    assert nodes["n3"]["style"] == "filled,bold"


def test_the_title_shows_the_fate_and_what_was_left_out() -> None:
    assert parse(dot_text(HELD)).attributes["graph"]["label"] == (
        "Tensor float32 [] is held: a root reaches it\n2 more objects refer to it\nit refers to 1 more object"
    )


def test_names_end_no_string_and_are_no_shorthand() -> None:
    graph = parse(dot_text(named(EVIL)))
    assert list(graph.nodes) == ["n1"]
    assert graph.nodes["n1"]["label"].startswith('a"b\\c\\N\\";}]\\n<b>&\\x00\\x1b\\u2028\\udc80 ->\n')
    assert list(graph.nodes["n1"]) == ["label", "fillcolor", "color", "style", "tooltip"]


def test_a_long_name_is_cut() -> None:
    label = parse(dot_text(named("x" * 500))).nodes["n1"]["label"].split("\n")[0]
    assert label == "x" * 47 + "…"


@pytest.mark.parametrize("around", [HELD, named(EVIL), named("")], ids=["held", "evil", "empty"])
def test_graphviz_draws_it(around: Neighbourhood) -> None:
    root = ElementTree.fromstring(drawn(dot_text(around), "svg"))
    groups = [one.get("class") for one in root.iter("{http://www.w3.org/2000/svg}g")]
    assert groups.count("node") == len(around.neighbours)
    assert groups.count("edge") == len(around.ties)
    assert drawn(dot_text(around), "png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "text",
    ["graph x {}", "digraph x { a -> ; }", 'digraph x { a [label="b]; }', "digraph x {} y", "digraph x { a [b] }"],
)
def test_the_parser_refuses_what_is_no_graph(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse(text)
    assert parse("digraph x { }") == Graph()
