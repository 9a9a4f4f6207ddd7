"""Attach to a model server under load."""
