from __future__ import annotations

import pytest

from gradlife.scenario import COLLECTED, Differs, Expect, Lab, Scenario, applies_on, matches, profile_name, scenario


@pytest.fixture(autouse=True)
def _forget_collected() -> None:
    globals().pop(COLLECTED, None)


def leak() -> Scenario:
    @scenario(
        title="leaks", origin=["o/r#1"], pattern="GL101", needs="hooks", isolation="fresh", expects=[Expect("x", "gc")]
    )
    def leaks(lab: Lab) -> None:
        """Told
        in two lines."""

    return leaks


def test_a_scenario_knows_what_was_declared_and_where_it_stands() -> None:
    story = leak()
    assert (story.name, story.title, story.origin, story.pattern) == ("leaks", "leaks", ("o/r#1",), "GL101")
    assert story.expects == (Expect("x", "gc"),)
    assert story.story == "Told\nin two lines."
    assert story.file == __file__
    assert story.function.__code__.co_firstlineno == story.line


def test_a_scenario_runs_its_story_when_called() -> None:
    seen: list[Lab] = []

    @scenario(title="sees the lab")
    def sees(lab: Lab) -> None:
        seen.append(lab)

    lab = Lab()
    sees(lab)
    assert seen == [lab]


def test_a_fixed_twin_takes_over_what_it_does_not_change() -> None:
    story = leak()

    @story.fixed(title="does not", fix="detach", expects=[Expect("x", "del")])
    def does_not(lab: Lab) -> None: ...

    assert (does_not.origin, does_not.pattern, does_not.needs, does_not.isolation) == (
        ("o/r#1",),
        "GL101",
        "hooks",
        "fresh",
    )
    assert does_not.fix == "detach"
    assert does_not.fixed_of is story
    assert story.twins == [does_not]
    assert story.fixed_of is None


def test_a_story_with_a_profile_of_its_own_needs_the_engine_and_so_do_its_twins() -> None:
    story = scenario(title="leaks", profile="torch-1.2+saved_slot=owning")(lambda lab: None)
    same = story.fixed(title="the same", fix="none")(lambda lab: None)
    other = story.fixed(title="does not", fix="none", profile="torch-1.2")(lambda lab: None)
    assert [each.profile for each in (story, same, other)] == ["torch-1.2+saved_slot=owning"] * 2 + ["torch-1.2"]
    assert [each.needs for each in (story, same, other)] == ["engine"] * 3


def test_a_file_collects_its_scenarios_in_the_order_in_which_they_are_written() -> None:
    story = leak()
    twin = story.fixed(title="does not", fix="detach")(lambda lab: None)
    assert globals()[COLLECTED] == [story, twin]


def test_a_text_is_refused_as_list_of_origins() -> None:
    with pytest.raises(TypeError, match=r"^origin of <lambda> is a text, not a list of them$"):
        scenario(title="wrong", origin="o/r#1")(lambda lab: None)


def test_an_unknown_isolation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^isolation of <lambda> is 'thread', not one of \('fork', 'fresh'\)$"):
        scenario(title="wrong", isolation="thread")(lambda lab: None)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [("torch-1.1", False), ("torch-1.1 torch-2.*", True), ("mini:*", True), ("*", True), ("", False)],
)
def test_patterns_match_the_profile_or_the_full_name(patterns: str, expected: bool) -> None:
    assert matches(patterns, "mini:torch-2.13", "torch-2.13") is expected


@pytest.mark.parametrize(
    ("patterns", "releases"),
    [
        ("torch>=2.13", "2.13 2.14"),
        ("torch<2.9", "1.9 1.10"),
        ("torch>=1.10,<2.13", "1.10 2.9"),
        ("torch<=1.9 torch>2.13", "1.9 2.14"),
        ("mini:torch>=2.9", ""),
    ],
)
def test_a_range_is_matched_by_its_releases(patterns: str, releases: str) -> None:
    known = ["1.9", "1.10", "2.9", "2.13", "2.14"]
    assert " ".join(one for one in known if matches(patterns, "torch", f"torch-{one}")) == releases
    assert not matches(patterns, "oneflow@/usr/bin/python3", "oneflow-2.9")


def test_a_range_of_full_names_leaves_real_releases_and_mutants_out() -> None:
    assert matches("mini:torch>=1.10", "mini:torch-2.13", "torch-2.13")
    assert not matches("mini:torch>=1.10", "torch", "torch-2.13")
    assert not matches("mini:torch>=1.10", "mini:torch-2.13+saved_slot=owning", "torch-2.13")


@pytest.mark.parametrize("wrong", ["torch>=2.x", "torch>=", ">=2.13", "torch>=2.13<3"])
def test_a_malformed_range_is_refused_where_it_is_declared(wrong: str) -> None:
    text = f"^{wrong!r} is not a range of releases, such as torch>=1.10,<2.10$"
    with pytest.raises(ValueError, match=text):
        Expect("x", "gc", on=wrong)
    with pytest.raises(ValueError, match=text):
        Differs("x", between=f"torch {wrong}")


def test_a_mutant_is_meant_by_its_profile_and_by_its_full_name() -> None:
    name = "mini:torch-2.13+saved_slot=owning"
    assert applies_on("torch-2.13", name, "torch-2.13")
    assert applies_on("*saved_slot=owning", name, "torch-2.13")
    assert not applies_on("mini:torch-2.13", name, "torch-2.13")


def test_a_declared_difference_is_between_two_systems_in_either_order() -> None:
    differs = Differs("x", between="mini:torch-2.13 torch")
    mini, torch, old = ("mini:torch-2.13", "torch-2.13"), ("torch", "torch-2.13"), ("mini:torch-1.1", "torch-1.1")
    assert differs.is_about(mini, torch)
    assert differs.is_about(torch, mini)
    assert not differs.is_about(old, torch)
    assert Differs("x").is_about(old, torch)


def test_a_declared_difference_covers_subjects_probes_and_stages_by_pattern() -> None:
    differs = Differs("x*", probe="refcount", stage="last*")
    assert differs.covers("x.use_count", "refcount", "last words")
    assert not differs.covers("y", "refcount", "last words")
    assert not differs.covers("x", "expiry", "last words")
    assert not differs.covers("x", "refcount", "first words")


@pytest.mark.parametrize(
    ("framework", "version", "profile"),
    [
        ("torch", "2.13.0+cpu", "torch-2.13"),
        ("torch", "1.1.0", "torch-1.1"),
        ("gradlife.engine", "0.1.0", "engine-0.1"),
        ("torch", "", "torch"),
    ],
)
def test_a_release_answers_for_the_profile_of_its_first_two_numbers(framework: str, version: str, profile: str) -> None:
    assert profile_name(framework, version) == profile


def test_what_imitates_no_release_is_spoken_of_by_name_only() -> None:
    assert applies_on(Expect("x", "gc").on, "mini:torch-2.13", "torch-2.13")
    assert not applies_on(Expect("x", "gc").on, "mini:micrograd", "micrograd")
    assert applies_on("micrograd", "mini:micrograd", "micrograd")
