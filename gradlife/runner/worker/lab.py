"""The lab that a scenario receives: watches, stages, and readings sent as soon as they are taken."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Sequence

from gradlife.probes.events import EventReader, count_kinds, live_counts
from gradlife.probes.exit import say_at_exit
from gradlife.probes.expiry import Watch, is_tensor, watch_object
from gradlife.probes.graph import lifetimes_of
from gradlife.probes.identity import identity_aspects
from gradlife.probes.liveness import verdict_of
from gradlife.probes.memory import live_bytes, resident_bytes, watch_storage
from gradlife.probes.refcount import Control, beyond
from gradlife.probes.referrers import objgraph_chain, referrers_of
from gradlife.runner.worker.contexts import backward_within, forward_within
from gradlife.runner.worker.ownership import owning_graph
from gradlife.runner.worker.plain_values import exception_text, simple
from gradlife.runner.worker.settle import settle, sync
from gradlife.scenario import Lab

Emit = Callable[[Dict[str, Any]], None]

#: The stage of readings in a story without stages.
NO_STAGE = "story"


class StoryError(Exception):
    """The story contradicts itself: a name is used twice, or something declared gone is alive."""


class WorkerLab(Lab):
    """Send a story's readings to `emit`, each as a JSON object."""

    def __init__(self, fw: Any, system: str, profile: str, emit: Emit, also: Sequence[str] = ()) -> None:
        self.fw = fw
        self.system = system
        self.profile = profile
        self._emit = emit
        self._also = also  # "events", "owners", "graph": what to report besides readings, if the framework has it
        self._watches: dict[str, Watch] = {}
        self._storages: dict[str, Watch] = {}
        self._held: list[Any] = []
        self._verdicts: dict[str, str] = {}  # of the last stage, if all names were gone then
        self._stage_now = NO_STAGE
        self._stages: set[str] = set()
        self._reported: set[tuple[str, str, str]] = set()  # stage, probe and subject of the story's own readings
        self._pending: list[dict[str, Any]] = []  # readings waiting for the name of their stage
        self._events = EventReader(fw)
        self._events.forget()
        self._counts = live_counts(fw)

    # -- watching ---------------------------------------------------------------------------------------------------

    def watch(self, name: str, obj: Any) -> None:
        """See `Lab.watch`."""
        if name in self._watches:
            raise StoryError(f"two subjects are named {name!r}")
        self._events.take()
        self._watches[name] = watch_object(name, obj)
        if is_tensor(self.fw, obj):
            storage = watch_storage(self.fw, name + ".storage", obj)
            self._watches[storage.name] = self._storages[name] = storage
        self._events.know(name, obj)
        del obj
        self._events.forget()

    def watch_first(self, name: str, obj: Any) -> None:
        """See `Lab.watch_first`."""
        if name not in self._watches:
            self.watch(name, obj)

    # -- contexts ---------------------------------------------------------------------------------------------------

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """See `Lab.forward`."""
        if self.context == "compile":  # the lab is not part of the compiled program
            self.watch_first = self.fw._dynamo.disable(self.watch_first)  # type: ignore[method-assign]
        return forward_within(self.context, self.fw, function, args)

    def backward(self, output: Any) -> None:
        """See `Lab.backward`."""
        backward_within(self.context, output)

    def hold(self, obj: Any) -> None:
        """See `Lab.hold`."""
        self._held.append(obj)

    def release(self) -> None:
        """See `Lab.release`."""
        del self._held[:]

    def bytes_alive(self, name: str) -> int | None:
        """See `Lab.bytes_alive`."""
        return live_bytes([self._storages[name]])

    # -- immediate readings -----------------------------------------------------------------------------------------

    def identity(self, name: str, getter: Callable[[], Any], setter_attr: bool = True) -> None:
        """See `Lab.identity`."""
        self._events.take()
        for aspect, value in identity_aspects(self.fw, getter, setter_attr).items():
            self._read("identity", f"{name}.{aspect}", value)
        del getter
        self._events.forget()

    def value(self, name: str, value: Any) -> None:
        """See `Lab.value`."""
        self._read("value", name, simple(value))

    def attempt(self, name: str, action: Callable[[], Any]) -> Any:
        """See `Lab.attempt`."""
        try:
            value = simple(action())
        except Exception as error:
            value = exception_text(error)
            forget_frames(error)
        self._read("value", name, value)
        return value

    def refcount(self, name: str, obj: Any) -> None:
        """See `Lab.refcount`."""
        self._read("refcount", name, beyond(sys.getrefcount(obj), self._control_count(name)))

    def _control_count(self, name: str) -> int:
        control = Control()
        return self._count_as_refcount_does(name, control)

    def _count_as_refcount_does(self, name: str, obj: Any) -> int:
        """Count as a story's `refcount` call does, so that both have the same temporary references."""
        return sys.getrefcount(obj)

    # -- the course of the story ------------------------------------------------------------------------------------

    def collect(self) -> None:
        """See `Lab.collect`."""
        settle(self.fw)

    def tensor(self, n: int = 4, requires_grad: bool = False) -> Any:
        """See `Lab.tensor`."""
        tensor = self.fw.ones(n)
        return tensor.requires_grad_() if requires_grad else tensor

    def at_exit(self, text: str, _say: Callable[[str], None] = say_at_exit) -> None:
        """See `Lab.at_exit`. When it is called, this module's globals may be gone."""
        _say(text)

    def stage(self, name: str, all_names_gone: bool = False) -> None:
        """See `Lab.stage`."""
        self._events.take()
        sync(self.fw)
        if name in self._stages:
            raise StoryError(f"two stages are named {name!r}")
        self._stages.add(name)
        self._stage_now = name
        self.flush()
        self._read_subjects()
        self._read_memory()
        self._draw_owners()
        self._draw_graph(sys._getframe(1))
        self._verdicts = {}
        self._events.forget()
        if all_names_gone:
            self._judge()
        self._read_engine()

    def finish(self) -> None:
        """Check the last verdicts now that the story's frame is gone, and correct the wrong ones."""
        self.flush()
        names_left = self._dead_after_all("never")
        if names_left:
            raise StoryError(
                "all names were declared gone, but a variable of the story still held: {}".format(", ".join(names_left))
            )
        self.release()
        settle(self.fw)
        unexpected = []
        for name, verdict in self._verdicts.items():
            if verdict == "held" and self._watches[name].alive():  # although the story released what it held
                self._read_now("liveness", name, "never")
                unexpected.append(self._watches[name])
        for name, lifetime in lifetimes_of(unexpected).items():
            self._read_graph(name, lifetime)

    def flush(self) -> None:
        """Send the readings taken since the last stage."""
        pending, self._pending = self._pending, []
        for reading in pending:
            about = (self._stage_now, reading["probe"], reading["subject"])
            if about in self._reported:
                raise StoryError("the {1} of {2!r} is given twice for stage {0!r}".format(*about))
            self._reported.add(about)
            self._send(reading)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _dead_after_all(self, verdict: str) -> list[str]:
        """Return subjects with this verdict that are dead now."""
        if verdict in self._verdicts.values():
            settle(self.fw)
        return [
            name for name, said in self._verdicts.items() if said == verdict and self._watches[name].alive() is False
        ]

    def _read_subjects(self) -> None:
        for watch in list(self._watches.values()):
            self._read_now("expiry", watch.name, watch.expiry())
            count = watch.refcount()
            if count is not None:
                self._read_now("refcount", watch.name, count)
            owners = watch.use_count()
            if owners is not None:
                self._read_now("refcount", watch.name + ".use_count", owners)

    def _read_memory(self) -> None:
        if self._storages:
            total = live_bytes(list(self._storages.values()))
            self._read_now("memory", "watched bytes", "inconclusive" if total is None else total)
        self._read_now("memory", "resident", resident_bytes(), status="not comparable")

    def _draw_owners(self) -> None:
        """Read the owners of each living subject, after all other readings."""
        draw = getattr(self.fw, "owners", None)
        if "owners" not in self._also or draw is None:
            return
        for watch in self._watches.values():
            subject = watch.ref() if watch.ref is not None and not watch.is_canary else None
            if subject is not None:
                text = str(draw(subject))
                self._emit({"kind": "owners", "stage": self._stage_now, "subject": watch.name, "text": text})
            del subject

    def _draw_graph(self, frame: Any) -> None:
        """Read the ownership graph from the story's frame."""
        if "graph" not in self._also:
            return
        plain = [watch for watch in self._watches.values() if watch.ref is not None and not watch.is_canary]
        watched = ((watch.name, watch.ref()) for watch in plain if watch.ref is not None)
        drawing = owning_graph(self.fw, self._events.subjects, watched, self._held, frame, self)
        if drawing is not None:
            self._emit({"kind": "graph", "stage": self._stage_now, "graph": drawing})

    def _judge(self) -> None:
        """Read the lifetime verdict of every subject: dead already, dead after a collection, held, or never."""
        before = {watch.name: watch.alive() for watch in self._watches.values()}
        lifetimes = lifetimes_of(self._watches.values())
        settle(self.fw)
        self._events.take()
        for watch in self._watches.values():
            verdict = verdict_of(before[watch.name], watch.alive(), bool(self._held))
            self._verdicts[watch.name] = verdict
            self._read_now("liveness", watch.name, verdict)
            if watch.name in lifetimes:
                self._read_graph(watch.name, lifetimes[watch.name])
            if verdict == "never" and not watch.is_canary:
                self._read_referrers(watch)
        self._events.forget()

    def _read_referrers(self, watch: Watch) -> None:
        """Read what Python-level tools see of a subject that is never freed."""
        subject = watch.ref() if watch.ref is not None else None
        if subject is None:
            return
        self._read_now("referrers", watch.name, referrers_of(subject))
        chain = objgraph_chain(subject)
        if chain is not None:  # not compared: objgraph may be missing in the other interpreter
            self._read_now("referrers", watch.name + ".objgraph", chain, status="not comparable")

    def _read_graph(self, name: str, lifetime: str) -> None:
        """Report the heap graph's verdict, which is compared with the measured lifetime."""
        self._read_now("graph", name, lifetime, status="not comparable")

    def _read_engine(self) -> None:
        events = self._events.end_stage()
        for kind, count in sorted(count_kinds(events).items()):
            self._read_now("events", kind, count)
        counts = live_counts(self.fw)
        for kind in sorted(counts):
            self._read_now("live", kind, counts[kind] - self._counts.get(kind, 0))
        if "events" in self._also:
            for event in events:
                self._emit({"kind": "event", "stage": self._stage_now, "event": event})

    def _read(self, probe: str, subject: str, value: Any) -> None:
        """Take a reading between two stages. It belongs to the next stage; after the last one, to that."""
        self._pending.append({"kind": "reading", "subject": subject, "probe": probe, "value": value, "status": ""})

    def _read_now(self, probe: str, subject: str, value: Any, status: str = "") -> None:
        self._send({"kind": "reading", "subject": subject, "probe": probe, "value": value, "status": status})

    def _send(self, reading: dict[str, Any]) -> None:
        reading["stage"] = self._stage_now
        self._emit(reading)


def forget_frames(error: BaseException | None) -> None:
    """Drop the tracebacks of an exception, its causes and contexts: their frames hold all local variables."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            waiting += [one.__cause__, one.__context__]
