"""Whether a name may be deleted after a statement."""

from __future__ import annotations

import ast
import textwrap

import pytest

from gradlife.peaks.sources.liveness import deletion_point, reader_after
from gradlife.peaks.sources.program import function_of, last_mention, source_of, spot_at

# Each body has `use(x)` once; the line of the first later reader, or None.
BODIES = {
    "use(x)\ny = 1": None,
    "use(x)\nreturn x": 3,
    "use(x)\nx = 2\nreturn x": None,
    "use(x)\nx += 2": 3,
    "use(x)\nif y:\n    print(x)": 4,
    "use(x)\nif y:\n    x = 1\nelse:\n    x = 2\nreturn x": None,
    "use(x)\nif y:\n    x = 1\nreturn x": 5,
    "for x in y:\n    use(x)": None,
    "for i in y:\n    x = i\n    use(x)": None,
    "for i in y:\n    use(x)": 3,
    "for i in y:\n    if i:\n        print(x)\n    x = i\n    use(x)": 4,
    "while x is None:\n    use(x)": 2,
    "for i in x:\n    use(i, 'use(x)')": 2,
    "for x in y:\n    use(x)\nfor x in y:\n    print(x)": None,
    "for i in y:\n    x = i\n    use(x)\nreturn x": 5,
    "try:\n    use(x)\nfinally:\n    print(x)": 5,
    "use(x)\ndel x": 3,
    "use(x)\nreturn lambda: x": 3,
    "use(x)\nreturn lambda x: x": None,
    "use(x)\nreturn locals()": 3,
    "global x\nuse(x)": 2,
    "use(x)\nreturn [i for i in y if i is x]": 3,
    "for e in y:\n    for i in y:\n        x = i\n        use(x)": None,
    "for e in y:\n    for i in y:\n        print(x)\n        x = i\n        use(x)": 4,
    "for i in y:\n    with i as x:\n        use(x)": None,
    "for i in y:\n    with i(x) as z:\n        x = z\n        use(x)": 3,
    "for i in y:\n    with i:\n        x = y\n    use(x)": None,
    "for i in y:\n    with suppress(i):\n        x = y\n    use(x)": 5,
    "use(x)\nx: int = 2\nreturn x": None,
    "for i in y:\n    if (x := i).bad:\n        continue\n    use(x)": None,
    "for i in y:\n    if i or (x := i):\n        continue\n    use(x)": 5,
    "while (x := next(y)):\n    use(x)": None,
    "use(x)\nif y and (x := y):\n    pass\nreturn x": 5,
    "use(x)\nreturn [x := i for i in y], x": 3,
    "for i in y:\n    use(x)\n    if i:\n        continue\n    x = i": 3,
    "for i in y:\n    x = i\n    use(x)\n    if i:\n        break\n    x = 2\nreturn x": 8,
    "for i in y:\n    use(x)\n    if i:\n        break\n    x = 2\nreturn 1": None,
    "for i in y:\n    if i:\n        x = i\n        use(x)\n        continue\n    x = 1\n    print(x)": None,
    "for i in y:\n    for j in i:\n        use(x)\n        if j:\n            break\n        x = j\n    print(x)": 8,
    "for i in y:\n    use(z='use(x)')\n    if i:\n        continue\n    x = i": 2,
    "while True:\n    use(x)\n    x = y\nprint(x)": None,
    "while True:\n    use(x)\n    if y:\n        break\n    x = y\nprint(x)": 7,
    "try:\n    use(x)\n    x = y\nexcept ValueError:\n    print(x.shape)": 6,
    "try:\n    use(x)\n    x = y\nexcept ValueError:\n    pass\nreturn x": 7,
    "try:\n    use(x)\n    return y()\nexcept ValueError:\n    return x": 6,
    "try:\n    pass\nexcept ValueError:\n    use(x)\nelse:\n    print(x)": None,
    "try:\n    pass\nexcept ValueError:\n    use(x)\nfinally:\n    print(x)": 7,
    "try:\n    pass\nexcept ValueError:\n    use(x)\n    return 1\nfinally:\n    print(x)": 8,
    "try:\n    pass\nexcept ValueError as x:\n    pass\nuse(x)": None,
    "try:\n    try:\n        use(x)\n        x = y()\n    finally:\n        pass\nexcept ValueError:\n    print(x)": 9,
    "for i in y:\n    use(x)\n    match i:\n        case 1:\n            continue\n    x = i": 3,
    "use(x)\nmatch y:\n    case [a] if x:\n        pass": 4,
}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.replace("\n", "; "))
def test_the_first_reader_after_a_statement(body: str) -> None:
    text = "def step(x, y):\n" + textwrap.indent(body, "    ")
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "use(x)" in row)
    spot = spot_at(function, line)
    assert spot is not None
    reader = reader_after(function, spot, "x")
    assert getattr(reader, "lineno", None) == BODIES[body]


# The statement below which `x` may be deleted, or None, by its line.
POINTS = {
    "use(x)\nz = x.loss": 3,
    "use(x)\nz = x.loss\ny = x.logits\nz.backward()": 4,
    "use(x)\nz = x.loss\nz.backward()\nreturn x.loss": None,
    "use(x)\nz.backward()\ny = x.loss": None,
    "with y:\n    use(x)\nreturn x": None,
    "for i in y:\n    use(x)": 2,
    "for i in x:\n    use(i)": 2,
    "for i in y:\n    use(x)\nreturn x": None,
    "for i in y:\n    use(x)\n    y.step()": None,
    "while y:\n    use(x)": 2,
}


@pytest.mark.parametrize("body", POINTS, ids=lambda body: body.replace("\n", "; "))
def test_the_statement_below_which_a_name_may_be_deleted(body: str) -> None:
    function = ast.parse("def step(x, y):\n" + textwrap.indent(body, "    ")).body[0]
    assert isinstance(function, ast.FunctionDef)
    spot = spot_at(function, 2 + body.startswith(("with", "for", "while")))
    assert spot is not None
    point, reader = deletion_point(function, spot, "x")
    assert (point.statement.lineno if reader is None else None) == POINTS[body]


GLOBAL = "def step():\n    global x\n    x = make()\n    use(x)\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GLOBAL, None),
        (GLOBAL + "def other():\n    return x\n", 6),
        (GLOBAL.replace("x = make()", "x = make(x)"), 3),
    ],
)
def test_a_global_may_be_deleted_where_no_other_function_reads_it(text: str, found: int | None) -> None:
    module = ast.parse(text)
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    spot = spot_at(function, 4)
    assert spot is not None
    assert getattr(reader_after(function, spot, "x", (), module), "lineno", None) == found


@pytest.mark.parametrize(
    ("line", "name", "found"),
    [(5, "y", 3), (5, "x", 2), (3, "y", 3), (5, ".last", 4), (5, "z", None), (7, "i", None), (7, "x", 2)],
)
def test_the_last_statement_that_mentions_a_name(line: int, name: str, found: int | None) -> None:
    text = """\
def step(self, z):
    x = 1
    y = 2
    self.last = 3
    backward()
    for i in range(3):
        backward()
"""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    spot = spot_at(function, line)
    assert spot is not None
    mention = last_mention(spot, name)
    assert (mention.statement.lineno if mention is not None else None) == found


def test_a_source_is_read_once() -> None:
    source = source_of(__file__)
    assert source is not None
    assert source is source_of(__file__)
    assert function_of(source, "test_a_source_is_read_once") is not None
