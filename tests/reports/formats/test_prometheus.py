"""Metrics of a watched process, and the dashboard that shows them."""

from __future__ import annotations

import json
import re
import sys

import pytest

from fabricated_hunts import LOSSES, WAITING, hunt
from gradlife.errors import UsageError
from gradlife.model.heap import Owner
from gradlife.model.hunt import Amounts
from gradlife.model.watching.look import Look
from gradlife.reports.formats.prometheus.metrics import Metrics, metrics_of
from sources import ROOT

LOOK = Look(1.0, 7, Amounts(9, 4, 3, 2, 4096, 8192), 1 << 20, (Owner("global variable 'kept': list", 4000),))


def test_a_machine_without_the_client_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(UsageError) as caught:
        Metrics()
    assert caught.value.hint == "pip install 'gradlife[metrics]'"


def test_gauges_have_what_is_alive_and_what_grows() -> None:
    client = pytest.importorskip("prometheus_client")
    registry = client.CollectorRegistry()
    metrics = Metrics(registry)
    metrics.look(LOOK)
    metrics.report(hunt(LOSSES, WAITING))

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(name, labels)
        return found

    assert value("gradlife_live", kind="tensors") == 4
    assert value("gradlife_live_bytes") == 4096
    assert value("gradlife_resident_bytes") == 1 << 20
    assert value("gradlife_steps") == 7
    assert value("gradlife_owner_bytes", owner="global variable 'kept': list") == 4000
    assert value("gradlife_growth_per_step", kind="graph_nodes") == 4
    assert value("gradlife_growth_bytes_per_step") == 65536
    assert value("gradlife_findings", severity="major") == 2
    metrics.look(Look(2.0, 8, Amounts(), 0))
    assert value("gradlife_owner_bytes", owner="global variable 'kept': list") is None


def test_the_dashboard_shows_gauges_that_there_are() -> None:
    client = pytest.importorskip("prometheus_client")
    registry = client.CollectorRegistry()
    Metrics(registry)
    dashboard = json.loads((ROOT / "docs" / "examples" / "grafana.json").read_text(encoding="utf-8"))
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = {name for text in shown for name in re.findall(r"gradlife_\w+", text)}
    assert names == {family.name for family in registry.collect()}


def test_a_program_that_is_watched_twice_goes_on_with_the_same_gauges() -> None:
    registry = pytest.importorskip("prometheus_client").CollectorRegistry()
    assert metrics_of(registry) is metrics_of(registry)
