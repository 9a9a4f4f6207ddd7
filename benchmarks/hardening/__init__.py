"""Hardening of the engine: memory that runs out, threads, interpreter exit, other interpreters and tools."""
