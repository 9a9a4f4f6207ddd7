"""The child's side of a run: load a framework, run a story in it, and report readings as JSON lines.

Everything in this package imports only the standard library and `gradlife.scenario`, and stays in the Python 3.7
subset, since it also runs in the interpreters of old frameworks. It uses a framework only through its module object,
and tests features instead of versions.
"""
