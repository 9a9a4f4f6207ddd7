"""Drawings for reports: SVG from plain values. They know sizes, words and colours, but nothing about leaks."""

from __future__ import annotations

from gradlife.reports.drawing.growth import growth_chart
from gradlife.reports.drawing.ring import RingNode, ring
from gradlife.reports.drawing.svg import Svg, element
from gradlife.reports.drawing.treemap import Cell, treemap

__all__ = ["Cell", "RingNode", "Svg", "element", "growth_chart", "ring", "treemap"]
