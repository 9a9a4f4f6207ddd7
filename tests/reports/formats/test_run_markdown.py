from __future__ import annotations

from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from fabricated import SEVEN, STORY, seven_systems, troubled
from fabricated_hunts import EVERYTHING
from gradlife.model import RunReport
from gradlife.reports.formats.markdown.document import in_a_cell, markdown_of, plain

PARSER = MarkdownIt("commonmark").enable("table")


def tables(text: str) -> list[list[list[str]]]:
    """The tables that a reader of Markdown finds: their rows, of cells as they are shown."""
    found: list[list[list[str]]] = []
    in_table = False
    for token in PARSER.parse(text):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and in_table:
            found[-1][-1].append(shown(token))
    return found


def shown(token: Token) -> str:
    """Inline text without its markup."""
    return "".join(child.content for child in token.children or ())


def test_the_summary_of_a_run_begins_with_its_verdict_and_its_sums() -> None:
    lines = markdown_of(seven_systems()).splitlines()
    assert lines[:5] == [
        "## gradlife run: clean",
        "",
        "21 declarations met, 0 contradicted, 0 runs failed, 0 unavailable.",
        "",
        "- 3 stories on 7 systems: 84 readings in 1.5 s; 5 differ between systems",
    ]
    assert "###" not in "\n".join(lines)


def test_the_matrix_is_a_table_with_a_column_a_system() -> None:
    systems, matrix = tables(markdown_of(seven_systems()))
    assert [row[0] for row in systems] == [
        "system",
        *("torch", "mini:torch-2.13"),
        *(s.name for s in SEVEN[:3]),
        *(s.name for s in SEVEN[4:6]),
    ]
    assert {len(row) for row in matrix} == {8}
    assert matrix[0][:3] == ["story", "torch 2.13.0", "mini torch 2.13"]
    assert matrix[1] == ["function_ownership", *[""] * 7]
    assert matrix[2] == ["ctx_keeps_output +1 (ctx)", "gc", "gc", "never*", "never*", "gc", "never*", "never*"]


def test_problems_come_before_the_matrix() -> None:
    text = markdown_of(troubled())
    assert text.startswith(
        "## gradlife run: FOUND\n\n20 declarations met, 1 contradicted, 2 runs failed, 1 unavailable."
    )
    lines = text.replace("\\", "").splitlines()
    start = lines.index("- CONTRADICTED function_ownership/ctx_keeps_output on mini:torch-2.13")
    assert lines[start + 1 : start + 3] == [
        "  - ctx, liveness at 'output dropped': declared gc, got never",
        "  - declared because from 1.10 on it does",
    ]
    assert "- FAILED function_ownership/ctx_keeps_detached_output on mini:torch-1.1" in lines
    start = lines.index("- DIFFERS function_ownership/ctx_keeps_output on mini:torch-2.13")
    assert lines[start + 1] == "  - ctx, liveness at 'output dropped': never, in torch gc"
    assert "- needs hooks: Pack and unpack hooks: 1 story on mini:oneflow-0.9" in lines
    assert text.index("### Contradictions") < text.index("<details>")


def test_a_run_without_readings_says_so() -> None:
    text = markdown_of(RunReport(SEVEN, (STORY,), (), "torch"))
    assert text.startswith("## gradlife run: could not tell\n\nno story could run anywhere, 0 unavailable.\n")


def test_names_are_no_markup_in_a_table() -> None:
    evil = "a|b`c|d`<script>*x*\\|_y_"
    system = replace(SEVEN[0], framework=evil)
    report = replace(seven_systems(), systems=(system, *SEVEN[1:]))
    rows = tables(markdown_of(report))[0]
    assert {len(row) for row in rows} == {4}
    assert rows[3][1] == f"{evil} 0.1.0".replace("`", "")
    assert "<script>" not in PARSER.render(markdown_of(report))


def test_a_bar_in_code_does_not_end_a_cell() -> None:
    assert in_a_cell("`a|b` c") == r"`a\|b` c"
    assert in_a_cell(plain("a|b")) == r"a\|b"


def test_the_rounds_of_a_hunt_are_a_table() -> None:
    (rounds,) = tables(markdown_of(EVERYTHING))
    assert rounds[0] == ["round", "steps", "storage bytes", "tensors", "nodes", "objects", "storage bytes/step"]
    assert [row[:2] for row in rounds[1:]] == [["1", "7"], ["2", "11"], ["3", "13"]]
