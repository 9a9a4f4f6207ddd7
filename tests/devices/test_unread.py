"""Device memory that is held longer than it is used: found from the source at the statement that ran out of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from device_programs import PRELUDE
from gradlife.devices.unread import decisive_calls, statement_at, unread_name

Program = Callable[..., dict[str, Any]]


def released(folder: Path, source: str, name: str = "x") -> str | None:
    """How `x` of `step` is released before the line that ends with ``# here``, with the number of the line."""
    file = folder / "program.py"
    file.write_text(f"def step(model, loader):\n{source}")
    lines = file.read_text().splitlines()
    here = next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))
    found = unread_name(str(file), "step", here, name)
    return f"{found.release} {found.place.line}" if found and found.place else None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("    x = model.a()\n    y = x.sum()\n    z = model(y)  # here\n    return z\n", "del x below 3"),
        ("    x = model.a()\n    z = model(x)  # here\n    return z\n", None),
        ("    x = model.a()\n    z = model()  # here\n    return z, x\n", None),
        ("    x = model.a()\n    return model()  # here\n", "del x below 2"),
        ("    x = model.a()\n    x = model.b()  # here\n    return x\n", "x = None above 3"),
        ("    x = model.a()\n    x += model.b()  # here\n", None),
        ("    x = model.a()\n    read = lambda: x\n    model()  # here\n    return read\n", None),
        ("    x = model.a()\n    model()  # here\n    return locals()\n", None),
        ("    for y in loader:\n        x = model(y)  # here\n        x.backward()\n", "x = None above 3"),
        ("    for y in loader:\n        z = model(y)  # here\n        x = z.sum()\n", "x = None above 3"),
        ("    x = 0\n    for y in loader:\n        z = model(y)  # here\n        x = x + z\n", None),
        ("    for x in loader:\n        y = x.sum()\n        z = model(y)  # here\n", "del x below 3"),
        ("    for x in loader:  # here\n        y = model(x)\n", "x = None above 2"),
        ("    for y in loader:  # here\n        print(x)\n", None),
        ("    x = 1\n    while model():  # here\n        x.sum()\n", None),
        ("    x = 1\n    if model():  # here\n        x = 2\n    else:\n        x.sum()\n", None),
        ("    x = 1\n    try:\n        model()  # here\n    except ValueError:\n        x.sum()\n", None),
        ("    x = 1\n    try:\n        x = model()  # here\n    finally:\n        x.sum()\n", None),
        ("    x = 1\n    with model():  # here\n        y = 1\n    return y\n", "del x below 2"),
    ],
)
def test_a_name_is_unread_if_no_statement_from_here_on_reads_it(
    tmp_path: Path, source: str, expected: str | None
) -> None:
    assert released(tmp_path, source) == expected


def test_a_batch_that_a_suspended_generator_has_given_is_unread(tmp_path: Path) -> None:
    source = "    for y in loader:\n        x = y.cuda()\n        yield x  # here\n"
    assert released(tmp_path, source) == "yield the value of x without a name at 4"


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("    model()  # here\n    opt.zero_grad()\n    loss.backward()\n", "zero_grad"),
        ("    model()  # here\n    if loader:\n        opt.zero_grad()\n    loss.backward()\n", "unclear"),
        ("    model()  # here\n    try:\n        opt.zero_grad()\n    finally:\n        pass\n", "unclear"),
        ("    model()  # here\n    for opt in loader:\n        opt.zero_grad()\n", "unclear"),
        ("    model()  # here\n    with loader:\n        opt.zero_grad()\n", "zero_grad"),
        ("    model()  # here\n    if loader:\n        loss.backward()\n    opt.zero_grad()\n", "backward"),
        ("    for x in loader:\n        if x:\n            opt.zero_grad()\n        model()  # here\n", "unclear"),
        ("    for x in loader:\n        opt.zero_grad()\n        model()  # here\n", "zero_grad"),
        (
            "    for x in loader:\n        model()  # here\n        if x:\n            continue\n        opt.zero_grad()\n",
            "unclear",
        ),
        ("    if loader:\n        opt.zero_grad()\n        model()  # here\n        opt.zero_grad()\n", "zero_grad"),
    ],
)
def test_a_zero_grad_that_may_not_run_is_unclear(tmp_path: Path, source: str, call: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"def step(model, loader, opt, loss):\n{source}")
    here = next(number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# here"))
    found = statement_at(str(file), "step", here)
    assert found is not None
    assert next(decisive_calls(found[1])) == call


def test_a_name_whose_source_is_not_there_counts_as_read(tmp_path: Path) -> None:
    assert unread_name(str(tmp_path / "gone.py"), "step", 3, "x") is None
    (tmp_path / "program.py").write_text("x = 1\n")
    assert unread_name(str(tmp_path / "program.py"), "step", 1, "x") is None


# --- on the simulated accelerator ---

#: Asks for more than there is in a function of a function; `wide`, `scratch` and `first` are not read again.
TRAINING = """
native.set_capacity(0, 64 << 20)
model = torch.nn.Linear(256, 512).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first = torch.ones(3000, device=device)
later = torch.ones(5000, device=device)
def embed(x):
    wide = torch.ones(1 << 20, device=device)
    total = wide.sum()
    return torch.ones(20 << 20, device=device) * total
def step(x):
    hidden = model(x)
    scratch = torch.ones(1 << 19, device=device)
    scale = scratch.sum()
    loss = embed(x).sum() * hidden.sum() * scale
    {zeroing}
    loss.backward()
    optimizer.step()
for parameter in model.parameters():
    parameter.grad = torch.ones_like(parameter)
{before}
try:
    step(torch.ones(64, 256, device=device))
    later.sum()
except torch.OutOfMemoryError:
    show()
"""


def edited(program: str, drag: list[dict[str, Any]]) -> str:
    """The program with what the report says."""
    lines = (PRELUDE + program).splitlines()
    for one in sorted(drag, key=lambda one: -(one["place"] or {"line": 0})["line"]):
        if one["place"] is not None:
            number = one["place"]["line"]
            statement, _, side = one["release"].rpartition(" ")
            indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
            lines.insert(number - (side == "above"), indent + statement)
    return "\n".join(lines)[len(PRELUDE) :]


def drag_of(shown: dict[str, Any]) -> dict[str, int]:
    """Bytes that nothing reads again, by holder."""
    return {one["holder"]: one["bytes"] for one in shown["devices"][0]["drag"]}


@pytest.mark.torch
@pytest.mark.whole
def test_what_is_released_as_the_report_says_is_gone_to_the_byte(on_device: Program) -> None:
    program = TRAINING.format(zeroing="optimizer.zero_grad()", before="")
    shown = on_device(program)
    gradients = 256 * 512 * 4 + 512 * 4
    expected = {
        "wide of embed": 4 << 20,
        "scratch of step": 2 << 20,
        "gradients": gradients,
        "first of <module>": 12288,
    }
    assert {**drag_of(shown), "first of <module>": drag_of(shown)["first of __main__"]}.items() >= expected.items()
    again = on_device(edited(TRAINING.format(zeroing="", before="optimizer.zero_grad()"), shown["devices"][0]["drag"]))
    assert drag_of(again) == {}
    saved = shown["devices"][0]["used_bytes"] - again["devices"][0]["used_bytes"]
    assert saved == sum(drag_of(shown).values())


@pytest.mark.torch
@pytest.mark.whole
def test_gradients_that_the_next_backward_adds_to_are_used(on_device: Program) -> None:
    program = TRAINING.format(zeroing="", before="")
    shown = on_device(program)
    assert "gradients" not in drag_of(shown)
    advice = [one["text"] for one in shown["devices"][0]["advice"]]
    assert "del wide below program.py:18" in advice
    assert not any("zero_grad" in text for text in advice)


@pytest.mark.torch
@pytest.mark.whole
def test_a_tensor_that_an_unread_variable_shares_with_an_attribute_is_used(on_device: Program) -> None:
    shown = on_device("""
class Cache:
    pass
def step(cache):
    x = torch.ones(1000, device=device)
    y = torch.ones(2000, device=device)
    alone = torch.ones(3000, device=device)
    cache.kept = x.view(10, 100)
    graph = y.requires_grad_().exp()
    cache.loss = graph.sum()
    show()
cache = Cache()
step(cache)
assert cache
""")
    assert drag_of(shown) == {"alone of step": 12288}
    (owner,) = (one for one in shown["devices"][0]["owners"] if one["text"] == "alone of step")
    assert (owner["unused_bytes"], owner["bytes"]) == (12288, 12288)
