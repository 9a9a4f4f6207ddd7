"""Prometheus metrics of a watched process: what is alive in it and what grows.

``prometheus_client`` is an extra: ``pip install 'gradlife[metrics]'``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gradlife.errors import UsageError
from gradlife.model.hunt import Amounts, HuntReport, Severity
from gradlife.model.watching.look import Look, growth_of
from gradlife.visible_text import visible

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Gauge

#: Counts of live objects, as values of the label `kind`.
KINDS = ("objects", "tensors", "storages", "graph_nodes")


class Metrics:
    """Gauges of one watched process. Raises UsageError if ``prometheus_client`` is not installed."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        where = registry if registry is not None else default_registry()
        from prometheus_client import Gauge

        self._live = Gauge("gradlife_live", "Objects that are alive, by kind.", ["kind"], registry=where)
        self._live_bytes = Gauge("gradlife_live_bytes", "Bytes of live storages.", registry=where)
        self._resident = Gauge("gradlife_resident_bytes", "Resident memory of the process.", registry=where)
        self._owners = Gauge("gradlife_owner_bytes", "Bytes that an object retains.", ["owner"], registry=where)
        self._growth = Gauge("gradlife_growth_per_step", "What all leaks add a step.", ["kind"], registry=where)
        self._growth_bytes = Gauge("gradlife_growth_bytes_per_step", "Bytes that all leaks add a step.", registry=where)
        self._findings = Gauge("gradlife_findings", "Leaks that were found, by severity.", ["severity"], registry=where)
        self._steps = Gauge("gradlife_steps", "Steps that were counted.", registry=where)
        self.report(None)

    def look(self, look: Look) -> None:
        """Show what is alive now, and remove owners that are gone."""
        self._set(self._live, look.live)
        self._live_bytes.set(look.live.bytes)
        self._resident.set(look.resident_bytes)
        self._steps.set(look.steps)
        self._owners.clear()
        for owner in look.owners:
            self._owners.labels(visible(owner.name)).set(owner.bytes)

    def report(self, report: HuntReport | None) -> None:
        """Show what has grown so far."""
        found = report.findings if report is not None else ()
        growth = growth_of(found)
        self._set(self._growth, growth)
        self._growth_bytes.set(max(growth.bytes, growth.retained_bytes))
        counts = Counter(one.severity for one in found)
        for severity in Severity:
            self._findings.labels(severity.value).set(counts[severity])

    def _set(self, gauge: Gauge, values: Amounts) -> None:
        for kind in KINDS:
            gauge.labels(kind).set(getattr(values, kind))


#: The gauges of each registry, which accepts a name only once.
_metrics: WeakKeyDictionary[CollectorRegistry, Metrics] = WeakKeyDictionary()


def metrics_of(registry: CollectorRegistry | None = None) -> Metrics:
    """Return the gauges of a registry. A program that is watched again goes on with the same ones."""
    where = registry if registry is not None else default_registry()
    found = _metrics.get(where)
    if found is None:
        found = _metrics[where] = Metrics(where)
    return found


def default_registry() -> CollectorRegistry:
    """Return the registry that Prometheus reads. Raises UsageError if ``prometheus_client`` is not installed."""
    try:
        from prometheus_client import REGISTRY
    except ImportError:
        raise UsageError("metrics need prometheus_client", "pip install 'gradlife[metrics]'") from None
    return REGISTRY


def listen(port: int, registry: CollectorRegistry | None = None) -> None:
    """Serve ``http://localhost:PORT/metrics`` for Prometheus from a thread. Raises UsageError if the port is taken."""
    from prometheus_client import REGISTRY, start_http_server

    try:
        start_http_server(port, addr="127.0.0.1", registry=registry if registry is not None else REGISTRY)
    except OSError as error:
        raise UsageError(f"cannot listen at port {port}: {error.strerror}", "--metrics with another port") from None
