"""Read the event log and the live counts of a framework that has them (the mini engine)."""

from __future__ import annotations

from typing import Any, Callable


class EventReader:
    """Collect the events of one story by stage, without those that the lab itself causes."""

    def __init__(self, fw: Any) -> None:
        self._events = getattr(fw, "events", None)
        self._clear = getattr(fw, "clear_events", None)
        self.offered = callable(self._events) and callable(self._clear)
        self._number_of = getattr(getattr(fw, "_engine", None), "_object_id", None)
        self.subjects: dict[Any, str] = {}
        self._stage: list[Any] = []

    def take(self) -> None:
        """Assign events since the last call to the current stage."""
        if self.offered:
            self._stage.extend(plain_event(event) for event in _called(self._events))
            _called(self._clear)

    def forget(self) -> None:
        """Drop events since the last call: the lab caused them."""
        if self.offered:
            _called(self._clear)

    def know(self, name: str, obj: Any) -> None:
        """Name an object after its subject from now on."""
        if self._number_of is not None:
            self.subjects.setdefault(self._number_of(obj), name)

    def end_stage(self) -> list[dict[str, Any]]:
        """Return the events of the stage that ends now."""
        events, self._stage = self._stage, []
        for event in events:
            event["subject"] = self.subjects.get(event["object"], "")
        return events


def _called(function: Any) -> Any:
    return function()


def plain_event(event: Any) -> dict[str, Any]:
    """Convert an event to a JSON object."""
    names = ("seq", "kind", "object", "object_kind", "detail", "strong", "weak", "time", "name")
    return {name: getattr(event, name, None) for name in names}


def count_kinds(events: list[dict[str, Any]]) -> dict[str, int]:
    """Count the events of each kind."""
    counts: dict[str, int] = {}
    for event in events:
        kind = str(event["kind"])
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def live_counts(fw: Any) -> dict[str, int]:
    """Return counts of the framework's living C++ objects by kind; empty if it does not count."""
    ask: Callable[[], dict[str, int]] = getattr(fw, "live_counts", dict)
    return {str(kind): int(count) for kind, count in ask().items()}
