"""Findings: from grown groups to traces, diagnoses, references to cut, and scenario files."""
