"""Predictions of gradlife peak beside measurements, and the cost of its recording."""
