"""Hardening of the engine: out of memory, threads, interpreter exit, other interpreters and tools."""
