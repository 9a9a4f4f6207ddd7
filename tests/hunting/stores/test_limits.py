"""Limits that a program sets to the length of a container."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stored_traces import LIST, limit_of, owned, source, trace, variable

KEPT = trace(variable("replay"), owned("items", "__main__.Replay"), LIST)
REPLAY = """\
class Replay:
    def push(self, item):
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.next] = item
"""


def limit(text: str, length: int = 113) -> str:
    steps = (*KEPT.steps[:2], replace(LIST, length=length), *KEPT.steps[3:])
    return limit_of(replace(KEPT, steps=steps), 2, [source(text)])


def test_a_replay_buffer_that_adds_below_its_size_is_limited() -> None:
    """A buffer that was not full yet was a list that grows."""
    assert limit(REPLAY) == "train.py:3"


@pytest.mark.parametrize(
    "removal",
    [
        "self.items.pop(0)",
        "self.items.clear()",
        "del self.items[0]",
        "self.items = self.items[-100:]",
        "for one in old:\n                self.items.pop()",
    ],
)
@pytest.mark.parametrize("test", ["if len(self.items) > self.size", "while len(self.items) >= 500"])
def test_a_container_that_is_cut_above_its_size_is_limited(test: str, removal: str) -> None:
    text = (
        f"class Replay:\n    def push(self, x):\n        self.items.append(x)\n        {test}:\n            {removal}\n"
    )
    assert limit(text) == "train.py:4"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(REPLAY.replace("<", ">"), id="the wrong sign"),
        pytest.param(REPLAY.replace("self.size", "100"), id="a limit that is passed"),
        pytest.param(REPLAY.replace("self.size", "10_000_000"), id="a limit without effect"),
        pytest.param(REPLAY + "    def add(self, item):\n        self.items.append(item)\n", id="another way in"),
        pytest.param(REPLAY.replace("len(self.items)", "len(self.other)"), id="another length"),
        pytest.param(
            "class Replay:\n    def push(self, x):\n        self.items.append(x)\n        if len(self.items) > 500:\n"
            "            print('many')\n",
            id="only a message",
        ),
        *(
            pytest.param(
                "class Replay:\n    def push(self, x):\n        self.items.append(x)\n"
                f"        if len(self.items) > 500:\n            self.items = {copy}\n",
                id=f"only a copy: {copy}",
            )
            for copy in (
                "[*self.items]",
                "list(self.items)",
                "self.items.copy()",
                "self.items[:]",
                "sorted(self.items)",
            )
        ),
    ],
)
def test_a_container_without_a_limit_that_holds_is_not(text: str) -> None:
    assert limit(text) == ""


def test_a_global_container_is_limited_by_its_name() -> None:
    text = "recent = []\nfor x in y:\n    recent.append(x)\n    if len(recent) > most:\n        recent.pop(0)\n"
    assert limit_of(trace(variable("recent"), LIST), 1, [source(text)]) == "train.py:4"
    assert limit_of(trace(LIST), 0, [source(text)]) == ""


def test_what_has_no_known_length_is_not_limited_by_a_comparison_of_it() -> None:
    """A buffer of 277 kB was "still filling (0 of 1,024)"."""
    text = "kept = bytearray()\nfor x in y:\n    kept += x\n    while len(kept) >= 1024:\n        del kept[:1024]\n"
    assert limit_of(trace(variable("kept"), replace(LIST, type="bytearray", length=None)), 1, [source(text)]) == ""


def named(limit: str) -> str:
    return (
        f"{limit}\nrecent = []\nfor x in y:\n    recent.append(x)\n    if len(recent) > most:\n        recent.pop(0)\n"
    )


@pytest.mark.parametrize(
    ("text", "is_limited"),
    [
        ("most = 500", True),
        ("most = args.most", True),
        ("from settings import most", True),
        pytest.param("most = 10_000_000", False, id="a leak that a limit without effect explained"),
        pytest.param("most = 100", False, id="a limit that is passed"),
        pytest.param("most = 0\nfor a in b:\n    most += 1", False, id="counted in place"),
        pytest.param("most = 0\nfor a in b:\n    most = most + 1", False, id="computed from itself"),
        pytest.param("for most in range(1_000):\n    run(most)", False, id="the variable of a loop"),
        pytest.param("most = len(others)", False, id="the length of another container"),
        pytest.param("count = 0\nfor a in b:\n    count += 1\nmost = count * 2", False, id="computed from a count"),
        pytest.param("most = 0\nfor a in b:\n    most = (most + 1) % 500", True, id="a place in a ring"),
        pytest.param(
            "most = 0\nfor a in b:\n    most = (most + 1) % 100", False, id="a place in a ring that is passed"
        ),
        pytest.param("def run(most):\n    pass\nfor size in sizes:\n    run(size)", True, id="one of several sizes"),
    ],
)
def test_a_named_limit_counts_by_its_number_if_the_source_tells_it(text: str, is_limited: bool) -> None:
    steps = (variable("recent"), replace(LIST, length=113))
    assert bool(limit_of(trace(*steps), 1, [source(named(text))])) is is_limited


DICT = replace(LIST, type="dict", object="dict")


@pytest.mark.parametrize(
    "text",
    [
        "for x in y:\n    if len(kept) < most:\n        kept[x] = 1\n",
        "for x in y:\n    if most > len(kept) and x:\n        kept[x] = 1\n",
        "for x in y:\n    if len(kept) >= most:\n        continue\n    kept[x] = 1\n",
        "def put(x):\n    if len(kept) >= most:\n        return\n    with lock:\n        kept.setdefault(x, 1)\n",
        "for x in y:\n    if not len(kept) < most:\n        break\n    kept[x] = 1\n",
        "for x in y:\n    if len(kept) >= most:\n        print(x)\n    else:\n        kept[x] = 1\n",
        "for x in y:\n    kept[x] = 1\n    while most < len(kept):\n        del kept[next(iter(kept))]\n",
        "for x in y:\n    kept[x] = 1\n    if flag and len(kept) > most:\n        kept.popitem()\n",
    ],
    ids=["below", "exchanged", "continue", "return", "not", "else", "while", "and"],
)
def test_a_dict_that_gets_keys_only_below_a_limit_is_limited(text: str) -> None:
    """A cache with a limit was a leak: `kept[x] = value` was no statement that adds."""
    steps = (variable("kept"), replace(DICT, length=113))
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "len(kept)" in row)
    assert limit_of(trace(*steps), 1, [source(text)]) == f"train.py:{line}"


@pytest.mark.parametrize(
    "text",
    [
        "for x in y:\n    if len(kept) < most:\n        kept[x] = 1\n    else:\n        kept[x] = 2\n",
        "for x in y:\n    if len(kept) >= most:\n        print(x)\n    kept[x] = 1\n",
        "for x in y:\n    kept[x] = 1\n    if debug and len(kept) > most:\n        kept.clear()\ndebug = False\n",
        "def a(x):\n    if len(kept) >= most:\n        return\ndef b(x):\n    kept[x] = 1\n",
    ],
    ids=["else", "only a message", "never true", "another function"],
)
def test_a_dict_that_gets_keys_above_the_limit_too_is_not(text: str) -> None:
    steps = (variable("kept"), replace(DICT, length=113))
    assert limit_of(trace(*steps), 1, [source(text)]) == ""


def test_a_heap_that_grows_up_to_a_limit_and_then_replaces_its_least_item_is_limited() -> None:
    text = "for x in y:\n    if len(best) < most:\n        heappush(best, x)\n    else:\n        heapreplace(best, x)\n"
    assert limit_of(trace(variable("best"), replace(LIST, length=113)), 1, [source(text)]) == "train.py:2"


@pytest.mark.parametrize(
    ("text", "is_limited"),
    [
        ("replay = Replay()\nif len(replay.items) > 500:\n    replay.items.pop(0)\n", False),
        ("replay, n = Replay(), 0\nif len(replay.items) > 500:\n    replay.items.pop(0)\n", False),
        ("recorder = Replay()\nif len(recorder.items) > 500:\n    recorder.items.pop(0)\n", True),
        ("one = recorder\nif len(one.items) > 500:\n    one.items.pop(0)\n", True),
        ("def cut(replay):\n    if len(replay.items) > 500:\n        replay.items.pop(0)\n", True),
    ],
    ids=["another object", "two at once", "the object", "another name", "a parameter"],
)
def test_the_list_of_another_object_is_another_list(text: str, is_limited: bool) -> None:
    """Any attribute of the same name limited the list."""
    steps = (variable("recorder"), owned("items", "__main__.Recorder"), replace(LIST, length=113))
    assert bool(limit_of(trace(*steps), 2, [source(text)])) is is_limited


CACHE = """\
class Replay:
    def push(self, x):
        self.items.append(x)
        {test}:
            {removal}
    def __len__(self):
        return len(self.items)
    def is_full(self):
        return len(self.items) > self.size
    @property
    def has_room(self):
        return len(self.items) < self.size
    def _evict(self):
        self.items.pop(0)
    def _log(self):
        self.log.clear()
"""


@pytest.mark.parametrize(
    "test", ["if len(self) > self.size", "if self.is_full()", "while not self.has_room", "if x and self.is_full()"]
)
@pytest.mark.parametrize(
    "removal", ["self._evict()", "self.items.pop(0)", "evict(self.items)", "evict(n=3, kept=self.items)"]
)
def test_a_limit_in_methods_and_functions_of_the_program_limits(test: str, removal: str) -> None:
    """A cache that calls its own `_evict()` was a leak until it was full."""
    helper = "def evict(kept, n=1):\n    del kept[:n]\n"
    assert limit(CACHE.format(test=test, removal=removal) + helper) == "train.py:4"


@pytest.mark.parametrize("removal", ["self._log()", "self.log._evict()", "note(self.items)", "_evict()"])
def test_a_function_that_removes_nothing_from_the_container_does_not_limit_it(removal: str) -> None:
    helper = "def note(kept):\n    kept = kept[1:]\n    print(kept)\n"
    assert limit(CACHE.format(test="if self.is_full()", removal=removal) + helper) == ""


def test_a_function_that_cuts_the_container_that_it_is_given_limits_it() -> None:
    text = "recent = []\ndef cut(kept, most):\n    while len(kept) > most:\n        kept.pop(0)\nfor x in y:\n"
    text += "    recent.append(x)\n    cut(recent, 500)\n"
    assert limit_of(trace(variable("recent"), replace(LIST, length=113)), 1, [source(text)]) == "train.py:3"
    assert limit_of(trace(variable("recent"), LIST), 1, [source(text.replace("cut(recent", "cut(other"))]) == ""
