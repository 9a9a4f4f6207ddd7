"""Scenario files as tests."""
