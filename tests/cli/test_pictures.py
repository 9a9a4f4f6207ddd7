from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

import gradlife
from dot_parser import parse
from gradlife.cli import pictures
from written import besides_files

Gradlife = Callable[..., tuple[int, str, str]]

needs_dot = pytest.mark.skipif(
    shutil.which("dot") is None, reason="graphviz's dot is not here: pictures were not drawn"
)


class Kept:
    """The subject of these tests' snapshot."""


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    kept = [Kept()]
    path = tmp_path_factory.mktemp("heap") / "x.glheap"
    gradlife.snapshot().save(path)
    assert kept
    return str(path)


def test_the_neighbourhood_is_a_graph(gradlife: Gradlife, snapshot: str, tmp_path: Path) -> None:
    file = tmp_path / "x.dot"
    status, output, errors = gradlife("why", snapshot, "Kept", "--dot", str(file))
    assert (status, besides_files(errors)) == (0, "")
    assert output.startswith("Kept is held: a root reaches it")
    graph = parse(file.read_text("utf-8"))
    target = graph.labelled("Kept")
    (holder,) = [source for source, end, looks in graph.arrows if (end, looks["label"]) == (target, "[0]")]
    assert graph.nodes[holder]["label"].startswith("list\nlen 1")


def test_the_graph_is_alone_on_standard_output(gradlife: Gradlife, snapshot: str) -> None:
    status, output, _ = gradlife("why", snapshot, "Kept", "--dot", "-")
    assert status == 0
    assert parse(output).attributes["graph"]["label"] == "Kept is held: a root reaches it"


@needs_dot
@pytest.mark.parametrize(
    ("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_graphviz_draws_the_picture(
    gradlife: Gradlife, snapshot: str, tmp_path: Path, kind: str, begins: bytes
) -> None:
    file = tmp_path / f"x.{kind}"
    assert gradlife("why", snapshot, "Kept", "--picture", str(file))[0] == 0
    assert file.read_bytes().startswith(begins)


@needs_dot
@pytest.mark.parametrize("path", ["-", "x", "x.gif", "x.png.exe", "x.svg:dot"])
def test_a_file_that_names_no_picture_is_refused(gradlife: Gradlife, snapshot: str, path: str) -> None:
    status, output, errors = gradlife("why", snapshot, "Kept", "--picture", path)
    assert (status, output) == (2, "")
    assert errors == (f"gradlife: error: {path} names no kind of picture (try: a file that ends in .png, .svg, .pdf)\n")


def test_without_graphviz_a_picture_is_refused_and_the_graph_is_not(
    gradlife: Gradlife, snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, output, errors = gradlife("why", snapshot, "Kept", "--picture", str(tmp_path / "x.png"))
    assert (status, output) == (2, "")
    assert errors == (
        "gradlife: error: graphviz's dot is not installed (try: install graphviz; or --dot FILE, which needs nothing)\n"
    )
    assert gradlife("why", snapshot, "Kept", "--dot", str(tmp_path / "x.dot"))[0] == 0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'syntax error in line 1' >&2; exit 1", "graphviz drew no picture: syntax error in line 1"),
        ("exit 3", "graphviz drew no picture: status 3"),
        ("exit 0", "graphviz drew no picture: status 0"),
        ("exec sleep 30", "graphviz drew no picture: "),
    ],
)
def test_a_graphviz_that_fails_costs_no_other_format(
    gradlife: Gradlife, snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    (tmp_path / "dot").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(pictures, "TIME_LIMIT", 1 if "sleep" in script else 900)
    files = [tmp_path / name for name in ("x.json", "x.png", "x.svg")]
    options = zip(("--json", "--picture", "--svg"), map(str, files), strict=True)
    status, _, errors = gradlife("why", snapshot, "Kept", *(word for pair in options for word in pair))
    assert status == 3
    assert besides_files(errors).startswith(f"gradlife: error: {message}")
    assert errors.endswith("(try: --dot FILE)\n")
    assert [file.exists() for file in files] == [True, False, True]


def test_what_a_snapshot_does_not_have_is_refused(gradlife: Gradlife, snapshot: str, tmp_path: Path) -> None:
    status, _, errors = gradlife("why", snapshot, "KeptByNobody", "--dot", str(tmp_path / "x.dot"))
    assert (status, errors.partition(" (")[0]) == (2, "gradlife: error: unknown type 'KeptByNobody'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.whole
@pytest.mark.parametrize(
    "arguments",
    [
        ("why", "FILE", "Kept"),
        ("open", "FILE"),
        ("open", "FILE", "--why", "Kept"),
        ("diff", "FILE", "FILE"),
        ("list", "-k", "ctx_keeps"),
        ("explain", "GL402"),
        ("explain", "ctx_keeps_output", "--no-run"),
        ("history", "ctx_keeps_output"),
        ("env", "list"),
        ("run", "STORIES", "--backend", "fake"),
    ],
    ids=lambda arguments: " ".join(arguments).replace("/", "_"),
)
def test_what_a_command_prints_is_a_picture_too(
    gradlife: Gradlife,
    snapshot: str,
    stories: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.setenv("GRADLIFE_HOME", str(tmp_path / "home"))
    words = [{"FILE": snapshot, "STORIES": stories}.get(word, word) for word in arguments]
    status, output, errors = gradlife(*words, "--svg", str(tmp_path / "x.svg"))
    assert (status, besides_files(errors)) == (0, "")
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    drawn = "".join(part for one in root.iter("{http://www.w3.org/2000/svg}text") for part in one.itertext())
    first = "".join(output.splitlines()[0].split())
    assert first[:20] in "".join(drawn.replace("\xa0", " ").split())
    assert gradlife(*words, "--svg", "-")[1].startswith("<svg ")


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_drawn(
    gradlife: Gradlife, snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("drawn"))
    bad = tmp_path / "no" / "x.svg"
    for option in ("--svg", "--dot"):
        status, output, errors = gradlife("why", snapshot, "Kept", option, str(bad))
        assert (status, output) == (2, "")
        assert errors.startswith(f"gradlife: error: cannot write {bad}: no such file or directory")
