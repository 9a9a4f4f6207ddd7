"""A program that runs cells in a real IPython shell and tells what each says; it takes over its process."""

from __future__ import annotations

from collections.abc import Callable

RUNNER = """
import contextlib, io, json, sys
from traitlets.config import Config
from IPython.core.interactiveshell import InteractiveShell

config = Config()
config.HistoryManager.enabled = False
config.InteractiveShell.colors = "nocolor"
shell = InteractiveShell.instance(config=config)
for cell in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        shell.run_cell(cell, store_history=True)
    print(json.dumps(said.getvalue()), flush=True)
"""

Cells = Callable[..., list[str]]
