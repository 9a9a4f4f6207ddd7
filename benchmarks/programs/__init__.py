"""Whole training programs, each with three switchable leaks."""
