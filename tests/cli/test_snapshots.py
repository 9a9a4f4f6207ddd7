"""`gradlife snapshot`, `open`, `why` and `diff` on a small program of known holders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.heap import open_snapshot

Gradlife = Callable[..., tuple[int, str, str]]

SCRIPT = """
import sys

class Order:
    def __init__(self, number):
        self.number = number

class Shop:
    def __init__(self, count):
        self.orders = [Order(number) for number in range(count)]

shop = Shop(int(sys.argv[1]))
print("noise", __name__, sys.argv[0])
if len(sys.argv) > 2:
    exec(sys.argv[2])
"""


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradlife", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=900,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots of one program: with 30 orders, and with 100."""
    made: Path = tmp_path_factory.mktemp("snapshots")
    (made / "shop.py").write_text(SCRIPT, encoding="utf-8")
    for name, count in (("a", "30"), ("b", "100")):
        done = run("snapshot", "-o", f"{name}.glheap", "shop.py", count, folder=made)
        assert (done.returncode, done.stdout) == (0, "noise __main__ shop.py\n")
        assert done.stderr.endswith(f" objects in {name}.glheap, taken when the program ended\n")
    return made


def test_open_shows_what_the_program_holds_first_and_libraries_in_a_line_each(gradlife: Gradlife, folder: Path) -> None:
    status, output, errors = gradlife("open", str(folder / "b.glheap"))
    assert (status, errors) == (0, "")
    assert output.index("shop.orders  list len 100") < output.index("Python and its standard library")
    assert "Types that take most" not in output
    assert "linecache" not in output


def test_open_shows_all_tables_if_asked(gradlife: Gradlife, folder: Path) -> None:
    status, output, errors = gradlife("open", str(folder / "b.glheap"), "--all")
    assert (status, errors) == (0, "")
    for title in ("Held by the program", "Types that take most", "Objects that retain most", "Cyclic parts"):
        assert title in output


def test_json_has_what_is_shown(gradlife: Gradlife, folder: Path) -> None:
    status, output, errors = gradlife("open", str(folder / "b.glheap"), "--instances", "Order", "--json", "-")
    assert (status, errors) == (0, "")
    document = json.loads(output)
    assert (document["format"], document["types"], len(document["instances"])) == ("gradlife.heap/1", [], 30)
    paths = {step["via"] for step in document["instances"][0]["steps"]}
    assert {"global variable 'shop'", ".orders"} <= paths


def test_an_object_is_asked_for_by_its_name(gradlife: Gradlife, folder: Path) -> None:
    status, output, errors = gradlife("why", str(folder / "b.glheap"), "orders")
    assert (status, errors) == (0, "")
    assert output.startswith("list len 100 is held: a root reaches it\nmodule __main__ keeps it: shop.orders\n")
    assert gradlife("open", str(folder / "b.glheap"), "--why", "orders")[1] == output
    for command in ("why", "FILE", "shop.orders"), ("open", "FILE", "--why", "shop.orders"):  # as open names it
        assert gradlife(*(part.replace("FILE", str(folder / "b.glheap")) for part in command)) == (0, output, "")


def test_holders_are_reported(gradlife: Gradlife, folder: Path) -> None:
    _, output, _ = gradlife("open", str(folder / "b.glheap"), "--holders", "Order")
    assert output.splitlines()[-2].split() == ["100", "1", "list"]


@pytest.mark.parametrize("command", [["why", "FILE", "Order"], ["open", "FILE", "--why", "__main__.Order"]])
def test_why_shows_the_path(gradlife: Gradlife, folder: Path, command: list[str]) -> None:
    status, output, _ = gradlife(*[str(folder / "b.glheap") if word == "FILE" else word for word in command])
    assert status == 0
    assert output.startswith("Order is held: a root reaches it\n")
    assert "module __main__ keeps it: shop.orders[" in output


def test_why_of_an_address_as_json(gradlife: Gradlife, folder: Path) -> None:
    file = str(folder / "b.glheap")
    _, text, _ = gradlife("open", file, "--instances", "Shop", "--json", "-")
    (shop,) = json.loads(text)["instances"]
    status, output, _ = gradlife("why", file, hex(shop["address"]), "--json", "-")
    trace = json.loads(output)
    assert (status, trace["format"], trace["object"], trace["lifetime"]) == (0, "gradlife.why/1", "Shop", "held")
    assert trace["ledger"]["unaccounted"] == 0


def test_diff_shows_what_the_program_holds_first(gradlife: Gradlife, folder: Path) -> None:
    status, output, _ = gradlife("diff", str(folder / "a.glheap"), str(folder / "b.glheap"))
    program, _, rest = output.partition("Types by count")
    title, _, first, *_ = program.splitlines()[program.splitlines().index("Held by the program") :]
    assert (status, title) == (0, "Held by the program")
    assert "__main__.Order " in first
    assert first.split()[-4:-2] == ["30", "100"]
    assert "'shop'.orders" not in rest.partition("Held by libraries and Python")[2]


def test_as_many_places_of_the_program_as_of_others_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of them was left out."""
    monkeypatch.setattr(sys.modules["gradlife.heap.diff"], "MAX_PATHS", 1)
    found = open_snapshot(folder / "a.glheap").diff(open_snapshot(folder / "b.glheap"))
    assert sorted(row.is_program for row in found.paths) == [False, True]


def test_diff_of_two_processes_goes_by_count_and_place(gradlife: Gradlife, folder: Path) -> None:
    status, output, _ = gradlife("diff", str(folder / "a.glheap"), str(folder / "b.glheap"), "--json", "-")
    document = json.loads(output)
    assert (status, document["format"], document["by_identity"]) == (0, "gradlife.diff/1", False)
    (orders,) = [row for row in document["types"] if row["type"] == "__main__.Order"]
    assert (orders["new"], orders["gone"]) == (70, 0)
    (place,) = [row for row in document["paths"] if row["type"] == "__main__.Order"]
    assert (place["path"], place["count_before"], place["count_after"], place["is_program"]) == (
        "module __main__: global variable 'shop'.orders[*]",
        30,
        100,
        True,
    )
    assert not [row for row in document["paths"] if row["is_program"] and "__main__" not in row["path"]]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("command", "title"),
    [
        (["open", "b.glheap"], "Snapshot b.glheap"),
        (["open", "b.glheap", "--why", "Order"], "Why Order is alive"),
        (["why", "b.glheap", "Order"], "Why Order is alive"),
        (["diff", "a.glheap", "b.glheap"], "Difference a.glheap → b.glheap"),
        (["snapshot", "-o", "c.glheap", "shop.py", "5"], "Snapshot c.glheap"),
    ],
)
def test_each_answer_can_be_a_page(folder: Path, command: list[str], title: str) -> None:
    name, *rest = command
    done = run(name, "--html", "page.html", *rest, folder=folder)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert done.returncode == 0
    assert f"<h1>{title}</h1>" in page
    assert "Order" in page


def test_a_page_on_standard_output_stands_there_alone(gradlife: Gradlife, folder: Path) -> None:
    file = str(folder / "b.glheap")
    for command in (["open", file], ["why", file, "Order"], ["diff", file, file]):
        status, output, errors = gradlife(*command, "--html", "-")
        assert (status, errors) == (0, "")
        assert output.startswith("<!doctype html>")
        assert output.rstrip().endswith("</html>")


def test_diff_with_itself_is_empty(gradlife: Gradlife, folder: Path) -> None:
    file = str(folder / "a.glheap")
    assert gradlife("diff", file, file) == (0, "  Nothing changed.\n", "")


@pytest.mark.parametrize("width", ["80", "120"])
def test_no_line_is_wider_than_the_terminal(folder: Path, width: str) -> None:
    for command in (["open", "b.glheap"], ["diff", "a.glheap", "b.glheap"], ["why", "b.glheap", "Order"]):
        done = run(*command, folder=folder, COLUMNS=width)
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= int(width)
        assert "\x1b" not in done.stdout


# --- scripts that end otherwise ---


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no stock')", 1, "no stock\n"),
        ("raise ValueError('no stock')", 1, "ValueError: no stock\n"),
        ("import os; os._exit(9)", 9, " objects in "),
    ],
)
def test_script_keeps_its_status_and_the_snapshot_is_taken(
    folder: Path, ending: str, status: int, error: str, tmp_path: Path
) -> None:
    done = run("snapshot", "-o", str(tmp_path / "x.glheap"), "shop.py", "1", ending, folder=folder)
    assert done.returncode == status
    assert error in done.stderr
    assert "gradlife/cli" not in done.stderr
    assert (tmp_path / "x.glheap").stat().st_size > 1000
    assert [path.name for path in tmp_path.iterdir()] == ["x.glheap"]


def test_labels_can_be_left_out(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.glheap"
    assert run("snapshot", "--no-labels", "-o", str(file), "shop.py", "5", folder=folder).returncode == 0
    assert b"orders" not in file.read_bytes()


# --- usage errors ---


def one_error(outcome: tuple[int, str, str]) -> str:
    status, output, errors = outcome
    assert (status, output, len(errors.splitlines())) == (2, "", 1)
    return errors.removeprefix("gradlife: error: ").rstrip()


def test_script_that_is_not_there(gradlife: Gradlife, tmp_path: Path) -> None:
    message = one_error(gradlife("snapshot", "-o", str(tmp_path / "x"), "nothing.py"))
    assert message == "cannot read nothing.py: no such file or directory (try: the name of a Python script)"


def test_script_that_is_none(gradlife: Gradlife, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a b", encoding="utf-8")
    assert "x.py is no Python script: invalid syntax" in one_error(
        gradlife("snapshot", "-o", str(tmp_path / "x"), str(tmp_path / "x.py"))
    )


def test_output_that_cannot_be_written_is_refused_before_the_script_runs(gradlife: Gradlife, folder: Path) -> None:
    message = one_error(gradlife("snapshot", "-o", str(folder / "no" / "x"), str(folder / "shop.py"), "1"))
    assert message.startswith(f"cannot write {folder / 'no' / 'x'}: no such file or directory")


@pytest.mark.parametrize("command", [["open", "x"], ["why", "x", "dict"], ["diff", "x", "x"]])
def test_file_that_is_no_snapshot(gradlife: Gradlife, tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "x"
    file.write_text("not a heap", encoding="utf-8")
    message = one_error(gradlife(*[str(file) if word == "x" else word for word in command]))
    assert message == (f"{file} is no snapshot of gradlife (try: take it again: gradlife snapshot -o FILE script.py)")


def test_unknown_type_and_address(gradlife: Gradlife, folder: Path) -> None:
    file = str(folder / "a.glheap")
    assert one_error(gradlife("why", file, "Ordre")).startswith("unknown type 'Ordre' (try: Order")
    assert one_error(gradlife("why", file, "0x10")).startswith("no object stands at 0x10 in this snapshot (try: ")
    assert one_error(gradlife("open", file, "--types", "none")).startswith("argument --types: 'none' is not a number")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no copies of processes here")
def test_a_child_that_the_script_forks_writes_no_snapshot(tmp_path: Path) -> None:
    """It wrote the file, or removed what its parent was about to write."""
    source = "import os, sys\npid = os.fork()\nif not pid:\n    sys.exit(7)\nassert os.wait()[1] == 7 << 8\n"
    (tmp_path / "forks.py").write_text(source, encoding="utf-8")
    done = run("snapshot", "-o", "heap.glheap", "--html", "page.html", "forks.py", folder=tmp_path)
    assert (done.returncode, done.stderr.count("objects in heap.glheap")) == (0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["forks.py", "heap.glheap", "page.html"]
