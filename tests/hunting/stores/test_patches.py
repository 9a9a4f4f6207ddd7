"""The patch of a list of losses: only where the program never reads what the list holds."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gradlife.hunting.stores.patches import patch_for
from gradlife.hunting.stores.program_sources import readable
from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.model.hunt import Confidence
from gradlife.model.trace import PathStep, TensorFacts, Trace
from stored_traces import CREATED, KEPT, LIST, TRAINER, owned, source, step, trace, variable


def diff(kept: Trace, text: str, *others: str, code: str = "GL402") -> str | None:
    sources = [source(text), *(source(other, f"other{number}.py", "other") for number, other in enumerate(others))]
    patch = patch_for(code, kept, stored_at(kept, Evidence(CREATED), sources), sources)
    return patch.diff if patch else None


def test_a_list_of_losses_keeps_numbers_and_git_applies_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = diff(KEPT, TRAINER)
    assert text is not None
    Path("train.py").write_text(TRAINER)
    subprocess.run(["git", "apply", "-"], input=text.encode(), check=True)
    assert Path("train.py").read_text() == TRAINER.replace("append(loss)", "append(loss.item())")


def test_a_file_without_a_last_newline_is_changed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "é = 1\nkept = []\nkept.append(f(é))"
    change = diff(trace(variable("kept"), LIST), text)
    assert change is not None
    Path("train.py").write_text(text)
    subprocess.run(["git", "apply", "-"], input=change.encode(), check=True)
    assert Path("train.py").read_text() == text.replace("f(é)", "f(é).item()")


def test_a_patch_has_the_line_ends_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_bytes(TRAINER.replace("\n", "\r\n").encode())
    sources = [*readable(iter([("__main__", "train.py")]))]
    patch = patch_for("GL402", KEPT, stored_at(KEPT, Evidence(CREATED), sources), sources)
    assert patch is not None
    subprocess.run(["git", "apply", "-"], input=patch.diff.encode(), check=True)
    changed = TRAINER.replace("append(loss)", "append(loss.item())")
    assert Path("train.py").read_bytes() == changed.replace("\n", "\r\n").encode()
    assert "\r" not in "".join((*patch.removed, *patch.added))
    Path("train.py").write_bytes(TRAINER.replace("\n", "\r\n", 3).encode())
    sources = [*readable(iter([("__main__", "train.py")]))]
    assert patch_for("GL402", KEPT, stored_at(KEPT, Evidence(CREATED), sources), sources) is None


@pytest.mark.parametrize(
    "line",
    [
        "torch.stack(t.losses).backward()",
        "t.losses[0].backward()",
        "for loss in t.losses: print(loss)",
        "getattr(t, 'losses')",
        "t.losses.append(f).method()",
        "show(t.losses)",
        "show(vars(t))",
        "show(t.__dict__)",
    ],
)
def test_no_patch_where_the_program_reads_the_list(line: str) -> None:
    assert diff(KEPT, TRAINER + line + "\n") is None
    assert diff(KEPT, TRAINER, line) is None


def test_a_list_that_nothing_reads_keeps_its_newest_tensor_without_its_graph() -> None:
    facts = TensorFacts("MeanBackward0")
    many = replace(trace(variable("trainer"), owned("losses"), LIST, detail="float32 [8]"), tensor=facts)
    changed = str(diff(many, TRAINER))
    assert "+        self.losses.clear()  # nothing reads more than the last one\n" in changed
    assert "+        self.losses.append(loss.detach())  # kept\n" in changed


def test_no_number_of_what_is_none_and_no_patch_of_what_stands_at_another_place() -> None:
    many = trace(variable("trainer"), owned("losses"), LIST, detail="float32 [8]")
    assert ".item()" not in str(diff(many, TRAINER))
    assert ".item()" not in str(diff(KEPT, TRAINER.replace("append(loss)", "append(0 if loss else 1)")))
    assert diff(KEPT, TRAINER.replace("self.losses.append(loss)", "self.losses = self.losses + [loss]")) is None
    assert diff(KEPT, TRAINER + "\n    def again(self):\n        self.losses.append(1)\n") is not None


def test_a_survivor_in_the_graph_of_a_kept_loss_is_let_go_with_it() -> None:
    loss = step("torch.Tensor", "internal", "grad_fn", detail="float32 []")
    kept = trace(variable("trainer"), owned("losses"), LIST, loss, detail="float32 [3]")
    changed = diff(kept, TRAINER)
    assert changed is not None
    assert "+        self.losses.append(loss.item())  # kept\n" in changed
    beside = step("torch.Tensor", "attribute", "features", detail="float32 []")
    kept = trace(variable("trainer"), owned("losses"), LIST, beside, detail="float32 [3]")
    assert ".item()" not in str(diff(kept, TRAINER))


def test_no_patch_where_the_line_is_unsure_or_the_pattern_is_another() -> None:
    text = TRAINER.replace("self.total = self.total + loss", "self.losses.append(loss)")
    assert diff(KEPT, text) is None
    place = stored_at(KEPT, Evidence(CREATED), [source(TRAINER)])
    assert place is not None
    assert place.confidence is Confidence.SURE
    other = patch_for("GL511", KEPT, place, [source(TRAINER)])
    assert other is not None
    assert other.added == ("self.losses.clear()  # nothing reads more than the last one",)


def total_of(*steps: PathStep) -> Trace:
    kept = trace(*steps)
    return replace(kept, tensor=TensorFacts("AddBackward0"))


def test_a_running_total_is_patched_and_one_that_is_read_with_its_graph_is_not() -> None:
    kept = total_of(variable("trainer"), owned("total"))
    assert diff(kept, TRAINER, code="GL403") == (
        "--- a/train.py\n+++ b/train.py\n@@ -6,7 +6,7 @@\n     def step(self):\n         loss = self.model()\n"
        "         self.losses.append(loss)  # kept\n-        self.total = self.total + loss\n"
        "+        self.total = self.total + loss.detach()\n \n     def other(self):\n         pass\n"
    )
    assert diff(kept, TRAINER, "trainer.total.backward()", code="GL403") is None
    assert diff(trace(variable("trainer"), owned("total")), TRAINER, code="GL403") is None  # it has no graph


def test_a_container_that_is_read_is_not_kept_from_growing_by_detaching_its_items() -> None:
    record = step("dict", "dict_value", "'logp'")
    kept = total_of(variable("trainer"), owned("losses"), LIST, record)
    text = TRAINER.replace("append(loss)", "append({'logp': loss})")
    assert "+        self.losses.append({'logp': loss.detach()})  # kept\n" in str(diff(kept, text, code="GL402"))
    assert diff(kept, f"{text}for one in trainer.losses: print(one)\n", code="GL402") is None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("kept.insert(0, f(x))", "kept.insert(0, f(x).item())"),
        ("kept += [f(x)]", "kept += [f(x).item()]"),
        ("kept.append(y := f(x))", "kept.append((y := f(x)).item())"),
    ],
)
def test_a_list_of_losses_may_be_filled_in_other_spellings(line: str, wanted: str) -> None:
    change = diff(trace(variable("kept"), LIST), f"kept = []\nfor x in y:\n    {line}\n")
    assert change is not None
    assert f"+    {wanted}\n" in change


def test_a_total_that_may_be_new_is_detached_in_both_branches() -> None:
    line = "    t.total = x if t.total is None else t.total + x\n"
    change = diff(total_of(variable("t"), owned("total")), f"def step(t, x):\n{line}", code="GL403")
    assert change is not None
    assert "+    t.total = x.detach() if t.total is None else t.total + x.detach()\n" in change


def test_a_list_that_is_filled_by_a_name_for_its_method_keeps_numbers() -> None:
    text = "kept = []\nadd = kept.append\nfor x in y:\n    add(f(x))\n"
    assert "+    add(f(x).item())\n" in str(diff(trace(variable("kept"), LIST), text))
    assert ".item()" not in str(diff(trace(variable("kept"), LIST), f"{text}kept[0].backward()\n"))
