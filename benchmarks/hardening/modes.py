"""The modes that the engine's setters leave set: read, compared and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from gradlife import _engine

SETTERS = (_engine._saved_tensors_hooks_set_tracing, _engine._watch_operations, _engine._go_beneath)


def read_by_setting(setter: Callable[[bool], bool]) -> bool:
    """Return the value of a mode whose setter returns the previous one."""
    value = setter(False)
    setter(value)
    return value


@dataclass(frozen=True)
class Modes:
    """Modes of this thread and of the process; the generator's state is restored, but not compared."""

    policy: tuple[str, dict[str, str]]
    has_grad: bool
    is_inference: bool
    anomaly: tuple[bool, bool]
    hooks: tuple[int, ...]
    disabled: str | None
    is_tracing: bool
    is_watched: bool
    is_in_watcher: bool
    generator: tuple[int, ...] = field(compare=False)

    @staticmethod
    def now() -> Modes:
        """Read the modes without changing any, although some have only a setter."""
        is_tracing, is_watched, is_in_watcher = (read_by_setting(setter) for setter in SETTERS)
        return Modes(
            policy=_engine._current_policy(),
            has_grad=_engine.is_grad_enabled(),
            is_inference=_engine.is_inference_mode_enabled(),
            anomaly=(_engine.is_anomaly_enabled(), _engine.is_anomaly_check_nan_enabled()),
            hooks=tuple(map(id, _engine._top_saved_tensors_default_hooks(True) or ())),
            disabled=_engine._saved_tensors_hooks_get_disabled_error_message(),
            is_tracing=is_tracing,
            is_watched=is_watched,
            is_in_watcher=is_in_watcher,
            generator=_engine._generator_state(),
        )

    def changes_to(self, other: Modes) -> str:
        """Return the differing modes as text; empty if there are none."""
        names = [each.name for each in fields(self) if each.compare]
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in names}
        return ", ".join(f"{name} {now!r} for {before!r}" for name, (before, now) in pairs.items() if before != now)

    def put_back(self) -> None:
        """Restore the modes, for a thread that had no policy, default hooks or listener of its own."""
        for setter, value in zip(SETTERS, (self.is_tracing, self.is_watched, self.is_in_watcher), strict=True):
            setter(value)
        _engine._leave_policy(None)
        _engine._set_default_policy(*self.policy)
        _engine._set_inference_mode(self.is_inference)
        _engine._set_grad_enabled(self.has_grad)
        _engine.set_anomaly_enabled(*self.anomaly)
        drop_default_hooks()
        _engine._set_generator_state(self.generator)
        _engine._set_change_listener(None)
        _engine._set_cached_tensors_enabled(False)
        _engine._log_events(True)


def drop_default_hooks() -> None:
    """Drop the hooks that were pushed, and the refusal of more."""
    _engine._saved_tensors_hooks_enable()
    while _engine._top_saved_tensors_default_hooks(True) is not None:
        _engine._pop_saved_tensors_default_hooks()


@contextmanager
def modes_kept() -> Iterator[None]:
    """Restore every mode at the end of the block."""
    before = Modes.now()
    try:
        yield
    finally:
        before.put_back()
