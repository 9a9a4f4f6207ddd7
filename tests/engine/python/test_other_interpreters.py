"""Other interpreters of one process: the engine refuses them, instead of sharing its objects with them."""

from __future__ import annotations

import sys

import pytest

from leftovers import run_script

IMPORTS = """
import sys
try:
    import _interpreters as interpreters  # 3.13
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
problem = None
try:
    problem = interpreters.run_string(other, "import gradlife._engine")
except BaseException as error:
    problem = error
print("does not support loading in subinterpreters" in str(getattr(problem, "msg", problem)))
interpreters.destroy(other)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="modules say so from Python 3.12 on")
def test_the_engine_is_not_loaded_into_another_interpreter() -> None:
    done = run_script(IMPORTS)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
