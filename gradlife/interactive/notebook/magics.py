"""The magics: `%gradlife VERB ...`, `%%gradlife hunt` for a cell, and tab completion."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError as MagicUsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from gradlife.errors import GradlifeError, UsageError
from gradlife.interactive.notebook.heap_source import NotebookPatient
from gradlife.interactive.notebook.session import VERBS, NotebookSession
from gradlife.reports.theme import make_console
from gradlife.safe_access import LibraryObject

#: Before a verb: return the object of the answer as the magic's value.
WITH_VALUE = "-o"


@magics_class
class GradlifeMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._patient = NotebookPatient(shell.user_ns)

    @no_var_expand
    @line_cell_magic
    def gradlife(self, line: str, cell: str | None = None) -> Any:
        """What keeps this object alive, and should it? ::

          %gradlife why model.head           what keeps an object alive: a variable, a type, an address
          %gradlife refs loss                its referrers, and unaccounted references
          %gradlife snapshot                 freezes the heap; %gradlife diff shows what has changed since
          %gradlife types 20                 the types that take most memory; retained and cycle list objects
          %gradlife save heap.glheap         a file for gradlife open, why and diff
          %gradlife hunt train_step          calls a function again and again: what grows?
          %%gradlife hunt --steps 100        the same with the cell below
          %%gradlife peak                    what of the cell's peak memory is never read again?
          %gradlife leaks                    the findings; why 1, refs 1, cycle 1 show more
          %gradlife cut 1                    removes the suspect reference; step 7 shows whether that ends it
          %gradlife help [VERB]              all verbs

        With -o before the verb the magic's value is the trace, ledger, snapshot, difference or report itself:
        ``report = %gradlife -o hunt train_step``.
        """
        words, wants_value = without_option(line)
        console, written = self._console()
        if not self._is_in_terminal():
            load_pages()  # before any snapshot, so that the one to compare with has them too
        try:
            step = self._step(cell) if cell is not None else None
            answer = NotebookSession(self._patient, console, step).ask(words)
        except GradlifeError as error:
            raise MagicUsageError(str(error)) from None
        self._display(written.getvalue(), answer)
        return answer if wants_value else None

    def _console(self) -> tuple[Any, io.StringIO]:
        """Return a console as wide as the terminal, with colours if it has any."""
        written = io.StringIO()
        is_terminal = self._is_in_terminal() and sys.stdout.isatty()
        width = os.get_terminal_size().columns if is_terminal else int(os.environ.get("COLUMNS", "100"))
        return make_console(written, width, is_terminal), written

    def _is_in_terminal(self) -> bool:
        return "terminal" in type(self.shell).__module__

    def _display(self, text: str, answer: LibraryObject) -> None:
        """Display the text, and the answer's own HTML if the front end can show it."""
        from IPython.display import display

        draw = getattr(answer, "_repr_html_", None)
        page = draw() if draw is not None and not self._is_in_terminal() else None
        bundle = {"text/plain": self._with_cells(text.rstrip("\n"))}
        display({**bundle, "text/html": page} if page else bundle, raw=True)  # type: ignore[no-untyped-call]

    def _with_cells(self, text: str) -> str:
        """Name the shell's files after their cells: ``In[4]:1``."""
        files: dict[str, int] = getattr(getattr(self.shell, "compile", None), "_filename_map", {})
        for file, number in files.items():
            for name in {file, os.path.basename(file)}:
                text = text.replace(f"{name}:", f"In[{number}]:")
        return text

    def _step(self, cell: str) -> Callable[[], object]:
        """Return the cell as a function that runs it once with the notebook's variables."""
        shell = self.shell
        assert shell is not None
        try:
            source = shell.transform_cell(cell)  # type: ignore[no-untyped-call]
            code = shell.compile(source, shell.compile.cache(cell, shell.displayhook.prompt_count), "exec")
        except SyntaxError as error:
            raise UsageError(
                f"the cell is not Python: {error.msg} in line {error.lineno}", "run it without %%gradlife"
            ) from None
        names, outer = shell.user_ns, shell.user_global_ns

        def run_cell() -> None:
            exec(code, outer, names)

        run_cell.__qualname__ = "the cell"
        return run_cell

    def complete(self, shell: Any, event: LibraryObject) -> list[str]:
        """Complete verbs, then leak numbers and variables."""
        before = event.line[: len(event.line) - len(event.symbol)].split()
        words = [word for word in before[1:] if word != WITH_VALUE]
        if not words or words == ["help"]:
            return [verb for verb in VERBS if verb.startswith(event.symbol)]
        if words[0] in {"snapshot", "save", "diff", "types", "step"}:
            return []
        found = [
            str(number + 1) for number in range(len(self._patient.report.findings if self._patient.report else ()))
        ]
        names = [name for name in self._patient.names if not name.startswith("_") or event.symbol.startswith("_")]
        return [word for word in [*found, *sorted(names)] if word.startswith(event.symbol)]


def load_pages() -> None:
    """Import the HTML reports, which are used only here."""
    importlib.import_module("gradlife.heap.views.overview")
    importlib.import_module("gradlife.reports.html.fragments").load()


def without_option(line: str) -> tuple[str, bool]:
    """Split off the option for the value, and return whether it was there."""
    first, _, rest = line.strip().partition(" ")
    return (rest, True) if first == WITH_VALUE else (line, False)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics: the entry point of `%load_ext gradlife`."""
    magics = GradlifeMagics(shell)
    shell.register_magics(magics)
    for key in ("%gradlife", "%%gradlife"):
        shell.set_hook("complete_command", magics.complete, str_key=key)  # type: ignore[no-untyped-call]
