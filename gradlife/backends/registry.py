"""The registry of backends, by name."""

from __future__ import annotations

from collections.abc import Iterable

from gradlife.backends.base import Backend
from gradlife.backends.child import MARK, ChildBackend
from gradlife.backends.fake import PROFILES as FAKE_PROFILES, FakeBackend
from gradlife.backends.mini import PREFIX, MiniBackend, nearest_profile, profile_names
from gradlife.backends.recorded import PREFIX as RECORDED, RecordedBackend, recording_names
from gradlife.backends.torch import TorchBackend, is_installed
from gradlife.errors import UnknownNameError
from gradlife.scenario import profile_name

#: The systems that `gradlife run` compares by default.
DEFAULT_BACKENDS = (
    "mini:torch-1.1",
    "mini:torch-1.2",
    "mini:torch-1.10",
    "mini:torch-2.13",
    "mini:oneflow-0.8",
    "mini:oneflow-0.9",
    "torch",
)

#: The system that the others are compared with.
DEFAULT_AGAINST = "torch"

#: Used if PyTorch is not installed: the recorded readings of the release that gradlife is tested with.
STAND_IN = RECORDED + "torch-2.13.0"


def default_backends(with_recording: bool = True) -> tuple[str, ...]:
    """Return the backends that `gradlife run` compares on this machine.

    A PyTorch of another release than the stand-in is compared with its nearest profile and with its own recording, too.
    """
    if not is_installed():
        return tuple(STAND_IN if name == DEFAULT_AGAINST else name for name in DEFAULT_BACKENDS)
    installed = TorchBackend()
    recordings = {profile_name(*name.split("-")): RECORDED + name for name in recording_names() if name.count("-") == 1}
    own = recordings.get(installed.profile)
    if own == STAND_IN:
        return DEFAULT_BACKENDS
    *others, torch = DEFAULT_BACKENDS
    recorded = [own] if own and with_recording else []
    return tuple(dict.fromkeys((PREFIX + nearest_profile(installed), *others, *recorded, torch)))


def backend_names() -> tuple[str, ...]:
    """Return every name that `get_backend` knows, except mutants."""
    try:
        profiles = profile_names()
    except ImportError:  # an engine that was not built has no profiles
        profiles = ()
    fakes = tuple(f"fake:{profile}" for profile in FAKE_PROFILES[1:])
    recordings = (RECORDED + name for name in recording_names())
    return ("torch", *(PREFIX + profile for profile in profiles), *recordings, "fake", *fakes)


def get_backend(name: str) -> Backend:
    """Return the backend of this name. Raises an error with the nearest names if there is none."""
    kind, _, rest = name.partition(":")
    if kind == "recorded" and rest:
        return RecordedBackend(rest)
    if MARK in name:
        return ChildBackend(name)
    try:
        if kind == "mini" and rest:
            return MiniBackend(rest)
        if kind == "fake" and rest:
            return FakeBackend(rest)
    except UnknownNameError as error:
        if error.kind != "profile":  # an axis or a value of one
            raise
    if name == "torch":
        return TorchBackend()
    if name == "fake":
        return FakeBackend()
    known = backend_names()
    raise UnknownNameError("backend", name, known, hint="one of " + " ".join(known))


def get_backends(names: Iterable[str]) -> tuple[Backend, ...]:
    """Return the backends of these names, each once."""
    return tuple(get_backend(name) for name in dict.fromkeys(names))
