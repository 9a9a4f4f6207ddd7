"""The child's side of a run: loads a framework, tells a story in it, and reports readings as JSON lines.

Everything in this package imports only the standard library and `gradlife.scenario`, and stays in the Python 3.7
subset: it also runs inside the interpreters of old frameworks. It reaches a framework only through its module object,
and asks for features instead of versions.
"""
