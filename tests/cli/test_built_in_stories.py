from __future__ import annotations

import pytest

from gradlife.cli.explain import declared_by_profile, fix_of
from gradlife.patterns.codes import SENTENCES
from gradlife.reports.run.listing import print_list
from gradlife.reports.run.story import Explanation, print_explanation
from gradlife.runner.discover import Story, discover
from printing import printed, widest


@pytest.fixture(scope="module")
def stories() -> tuple[Story, ...]:
    return discover()


def explained(story: Story, stories: tuple[Story, ...], width: int) -> str:
    fixes = [fix_of(story, twin) for twin in stories if twin.info.fixed_of == story.info.name]
    explanation = Explanation(story.info, declared_by_profile(story.info), fixes)
    return printed(lambda console: print_explanation(console, explanation), width)


@pytest.mark.whole
@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_built_in_story_is_explained_within_the_terminal(stories: tuple[Story, ...], width: int) -> None:
    assert [story.info.name for story in stories if widest(explained(story, stories, width)) > width] == []


def test_every_twin_shows_how_its_source_differs(stories: tuple[Story, ...]) -> None:
    by_name = {story.info.name: story for story in stories}
    twins = [story for story in stories if story.info.fixed_of]
    assert [twin.info.name for twin in twins if not fix_of(by_name[str(twin.info.fixed_of)], twin).diff] == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_list_of_built_in_stories_stays_within_the_terminal(stories: tuple[Story, ...], width: int) -> None:
    assert widest(printed(lambda console: print_list(console, [story.info for story in stories]), width)) <= width


def test_every_pattern_of_a_built_in_story_has_a_sentence(stories: tuple[Story, ...]) -> None:
    assert {story.info.pattern for story in stories if story.info.pattern} - set(SENTENCES) == set()
