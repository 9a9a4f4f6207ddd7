"""Files that are ruled out by their text, without parsing."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.place import Place, PlaceKind
from gradlife.hunting.stores.place_statements import may_mention


@pytest.mark.parametrize(
    ("kind", "name", "text", "expected"),
    [
        (PlaceKind.ATTRIBUTE, "losses", "self.losses.append(x)", True),
        (PlaceKind.ATTRIBUTE, "losses", "self.values.append(x)", False),
        (PlaceKind.ATTRIBUTE, "batch_3", 'setattr(state, f"batch_{n}", x)', True),
        (PlaceKind.ATTRIBUTE, "batch_3", "setattr(state, name, x)", False),
        (PlaceKind.KEY, "batch_3", "state[f'batch_{n}'] = x", True),
        (PlaceKind.KEY, "a\n", "state['a\\n'] = x", True),
        (PlaceKind.GLOBAL, "kept", "print(f'{other}')", False),
        (PlaceKind.LOCAL, "kept", "kept = []", True),
    ],
)
def test_a_file_is_read_only_if_its_text_may_have_the_place(
    kind: PlaceKind, name: str, text: str, expected: bool
) -> None:
    assert may_mention(text, Place(name, kind)) is expected
