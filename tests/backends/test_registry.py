from __future__ import annotations

import pytest

from gradlife.backends import registry
from gradlife.backends.base import WorkerSpec
from gradlife.errors import UnknownNameError, UsageError


@pytest.fixture
def _engine() -> None:
    pytest.importorskip("gradlife._engine")


def test_the_fake_says_what_it_is() -> None:
    backend = registry.get_backend("fake")
    assert (backend.name, backend.profile) == ("fake", "fake-1.0")
    assert backend.worker_spec() == WorkerSpec("gradlife.backends.fake", "fake-1.0")
    info = backend.describe()
    assert (info.name, info.profile, info.framework, info.version) == ("fake", "fake-1.0", "fake", "1.0")


@pytest.mark.usefixtures("_engine")
def test_a_mini_backend_puts_its_profile_in_force() -> None:
    backend = registry.get_backend("mini:torch-1.1")
    assert (backend.name, backend.profile) == ("mini:torch-1.1", "torch-1.1")
    assert backend.worker_spec() == WorkerSpec("gradlife.engine", "torch-1.1")


@pytest.mark.usefixtures("_engine")
def test_a_mutant_has_the_profile_that_it_was_made_from() -> None:
    backend = registry.get_backend("mini:torch-2.13+saved_slot=owning")
    assert (backend.name, backend.profile) == ("mini:torch-2.13+saved_slot=owning", "torch-2.13")
    assert backend.worker_spec().profile == "torch-2.13+saved_slot=owning"
    assert backend.describe().profile == "torch-2.13"


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("mini:torch-1.3", "mini:torch-1.13"),
        ("tosch", "torch"),
        ("fakes", "fake"),
        ("mini:oneflow", "mini:oneflow-0.9"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        registry.get_backend(name)
    assert caught.value.message == f"unknown backend {name!r}"
    assert nearest in caught.value.nearest


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ("saved_slots=owning", "unknown policy axis 'saved_slots'", "saved_slot"),
        ("saved_slot=own", "unknown value of saved_slot 'own'", "owning"),
        ("saved_slot", "'saved_slot' is no change of a policy", "PROFILE+axis=value"),
    ],
)
def test_an_unknown_policy_is_answered_with_the_nearest(change: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.get_backend(f"mini:torch-2.13+{change}")
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_without_a_near_name_all_are_given() -> None:
    with pytest.raises(UnknownNameError) as caught:
        registry.get_backend("xyzzy")
    assert caught.value.hint.startswith("one of torch ")
    assert caught.value.hint.endswith(" fake fake:fake-leaky")


def test_an_engine_that_was_not_built_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> tuple[str, ...]:
        raise ImportError("not built")

    monkeypatch.setattr(registry, "profile_names", missing)
    names = [name for name in registry.backend_names() if not name.startswith("recorded:")]
    assert names == ["torch", "fake", "fake:fake-leaky"]


def test_a_name_given_twice_is_one_backend() -> None:
    assert [backend.name for backend in registry.get_backends(["fake", "fake:fake-leaky", "fake"])] == [
        "fake",
        "fake:fake-leaky",
    ]


@pytest.mark.torch
def test_torch_is_named_after_its_release() -> None:
    backend = registry.get_backend("torch")
    version = backend.describe().version
    assert backend.profile == "torch-" + ".".join(version.split(".")[:2])
    assert backend.worker_spec() == WorkerSpec("torch")


PINNED = registry.DEFAULT_BACKENDS


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize(
    ("version", "first", "recording"),
    [
        ("2.15.0+cu132", "mini:torch-2.14", "recorded:torch-2.15.0"),
        ("2.14.0", "mini:torch-2.14", "recorded:torch-2.14.1"),
        ("9.0.1", "mini:torch-2.14", None),
        ("2.9.1", "mini:torch-2.9", "recorded:torch-2.9.1"),
    ],
)
def test_another_torch_is_compared_with_its_profile_and_its_recording(
    monkeypatch: pytest.MonkeyPatch, version: str, first: str, recording: str | None
) -> None:
    install(monkeypatch, version)
    recorded = [recording] if recording else []
    assert registry.default_backends() == (first, *PINNED[:-1], *recorded, "torch")
    assert registry.default_backends(with_recording=False) == (first, *PINNED[:-1], "torch")


@pytest.mark.usefixtures("_engine")
def test_the_torch_that_gradlife_is_tested_with_has_no_column_more(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "2.13.0+cpu")
    assert registry.default_backends() == PINNED


def install(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let a release of PyTorch be installed."""
    monkeypatch.setattr(registry, "is_installed", lambda: True)
    monkeypatch.setattr("gradlife.backends.torch.is_installed", lambda: True)
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
