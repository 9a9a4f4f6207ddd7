"""Graphviz."""
