"""Profiles: named bundles of ownership policies, chosen per thread and region.

The facts that each profile reproduces were measured on the release it is named after.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gradlife import _engine
from gradlife.errors import UnknownNameError, UsageError

AXES: Mapping[str, tuple[str, ...]] = {name: tuple(values) for name, values in _engine._policy_axes().items()}


@dataclass(frozen=True)
class Profile:
    """A name and one value on each axis of `AXES`. ``str(profile)`` is its spec: ``torch-2.13+saved_slot=owning``."""

    name: str
    axes: Mapping[str, str] = field(default_factory=dict)

    def __getattr__(self, name: str) -> str:
        axes = self.__dict__.get("axes", {})
        if name in axes:
            return str(axes[name])
        raise AttributeError(f"a profile has no axis '{name}'")

    def changes(self) -> dict[str, str]:
        """Return the axes on which this differs from the named profile."""
        base = _PROFILES[self.name].axes
        return {axis: value for axis, value in self.axes.items() if base[axis] != value}

    def __str__(self) -> str:
        changes = ",".join(f"{axis}={value}" for axis, value in sorted(self.changes().items()))
        return f"{self.name}+{changes}" if changes else self.name


_PROFILES: dict[str, Profile] = {name: Profile(name, axes) for name, axes in _engine._profiles()}


def profiles() -> dict[str, Profile]:
    """Return all profiles by name: the releases, then the broken ones, each with one mistake."""
    return dict(_PROFILES)


def resolve(spec: str | Profile, axes: Mapping[str, str] | None = None) -> Profile:
    """Return the profile of a spec, ``NAME`` or ``NAME+axis=value,...``, with ``axes`` replaced."""
    name, _, rest = str(spec).partition("+")
    if name not in _PROFILES:
        raise UnknownNameError("profile", name, _PROFILES)
    changed = dict(_PROFILES[name].axes)
    for axis, value in [*_parse_changes(rest), *(axes or {}).items()]:
        if axis not in AXES:
            raise UnknownNameError("policy axis", axis, AXES)
        if value not in AXES[axis]:
            raise UnknownNameError(f"value of {axis}", value, AXES[axis], hint=" or ".join(AXES[axis]))
        changed[axis] = value
    return Profile(name, changed)


def _parse_changes(text: str) -> Iterator[tuple[str, str]]:
    for item in filter(None, text.split(",")):
        axis, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"'{item}' is no change of a policy", hint="PROFILE+axis=value[,axis=value]")
        yield axis.strip(), value.strip()


@contextlib.contextmanager
def profile(spec: str | Profile, **axes: str) -> Iterator[Profile]:
    """Use a profile for all objects created in this thread inside the block; ``axes`` replace single policies of it."""
    chosen = resolve(spec, axes)
    token = _engine._enter_policy(chosen.name, dict(chosen.axes))
    try:
        yield chosen
    finally:
        _engine._leave_policy(token)


def current_profile() -> Profile:
    """Return the profile of this thread."""
    name, axes = _engine._current_policy()
    return Profile(name, axes)


def set_default_profile(spec: str | Profile, **axes: str) -> Profile:
    """Set the profile that threads start with. The environment variable ``GRADLIFE_PROFILE`` sets it at import."""
    chosen = resolve(spec, axes)
    _engine._set_default_policy(chosen.name, dict(chosen.axes))
    return chosen


def set_profile_of_environment() -> None:
    """Set the default profile to that of ``GRADLIFE_PROFILE``, where it is set."""
    spec = os.environ.get("GRADLIFE_PROFILE")
    if not spec:
        return
    try:
        set_default_profile(spec)
    except UsageError as error:
        raise UsageError(f"GRADLIFE_PROFILE: {error.message}", error.hint or "unset GRADLIFE_PROFILE") from None
