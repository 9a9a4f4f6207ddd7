"""The prompt and its verbs. Each one answers from the heap; only `cut` and `step` change anything."""

from __future__ import annotations

import cmd
import re
from typing import ClassVar, NoReturn, TextIO

from gradlife.errors import GradlifeError, UnknownNameError, UsageError
from gradlife.heap.path_steps import short_type
from gradlife.heap.views.overview import program_view
from gradlife.heap.views.program_objects import variable_or
from gradlife.interactive.heap_source import NeedsProcessError, Patient, RunningPatient, findings_of
from gradlife.model.heap import HeapView
from gradlife.model.hunt import Finding, HuntReport
from gradlife.model.trace import Lifetime, Trace
from gradlife.reports.heap import session as reports
from gradlife.reports.heap.diff import print_diff
from gradlife.reports.theme import make_console

#: Default rows of a table.
ROWS = 12


class Session(cmd.Cmd):
    """A session; `cmdloop` runs until it ends."""

    prompt = "(gradlife) "
    verbs: ClassVar[tuple[str, ...]]  # in help order
    doc_header = "Verbs:"

    def __init__(self, patient: Patient, stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self._patient = patient
        self._console = make_console(stdout)
        self.use_rawinput = stdin is None
        self._has_begun = False
        self.steps_wanted = 0  # steps that the program takes before it comes back; 0: it continues on its own

    def cmdloop(self, intro: object = None) -> None:
        """Read lines to the end. Ctrl-C abandons a line, not the session, nor the program that has stopped for it."""
        while True:
            try:
                super().cmdloop(intro)
                return
            except KeyboardInterrupt:
                self._say("")

    def preloop(self) -> None:
        """Print where the program is and, after steps, what they added."""
        if self._has_begun:
            return
        self._has_begun = True
        self._say(self._patient.title)
        if self._patient.rounds:
            self._show(reports.round_lines(self._patient.rounds))
        elif self._patient.report is None:
            self._show(reports.program_lines(program_view(self._patient.snapshot, "")))
        if not self._patient.rounds:
            self._say("`leaks` lists what was found, `help` the verbs.")

    # --- verbs ---

    def do_leaks(self, text: str) -> None:
        """leaks: list the findings with numbers; of a file, the cycles through native objects that are never freed."""
        if self._patient.report is not None:
            self._show(reports.leak_lines(findings_of(self._patient)))
            return
        cycles = [
            one for one in self._patient.snapshot.cycles(1000) if one.lifetime is Lifetime.NEVER and one.has_native
        ]
        self._show(reports.file_leak_lines(cycles[:ROWS], len(cycles)))

    def do_why(self, text: str) -> None:
        """why WHAT: show what keeps it alive. WHAT is a leak's number, an address, a type, Python code, or in a file a name."""
        finding = self._finding(text)
        if finding is not None:
            self._show(reports.finding_lines(finding, self._report()))
        else:
            self._show(reports.trace_lines(self._trace(text)))

    def do_refs(self, text: str) -> None:
        """refs WHAT: list its referrers, and count unaccounted references."""
        finding = self._finding(text)
        self._show(reports.ledger_lines(finding.trace if finding is not None else self._trace(text)))

    def do_cycle(self, text: str) -> None:
        """cycle [WHAT]: show the cycle that keeps it; without WHAT all cycles, those through native objects first."""
        if not text:
            self._show(reports.cycle_list(self._patient.snapshot.cycles(ROWS)))
            return
        finding = self._finding(text)
        self._show(reports.cycle_lines(finding.trace if finding is not None else self._trace(text)))

    def do_retained(self, text: str) -> None:
        """retained [TYPE | ROWS]: list what the program's variables hold; the largest objects of a TYPE, or of all."""
        snapshot = self._patient.snapshot
        if not text:
            self._show(reports.program_lines(program_view(snapshot, "")))
        elif text.isdecimal():
            self._view(largest=snapshot.largest(rows_of(text)))
        else:
            self._view(instances=snapshot.instances(text, ROWS))

    def do_find(self, text: str) -> None:
        """find TEXT: find objects by type, or by the name of a variable, an attribute or a key."""
        if not text:
            raise UsageError("find what?", "find cache")
        self._view(largest=self._patient.snapshot.find(text, ROWS))

    def do_types(self, text: str) -> None:
        """types [ROWS]: list the types that take most memory."""
        self._view(types=self._patient.snapshot.types()[: rows_of(text)])

    def do_cut(self, text: str) -> None:
        """cut N: remove the suspect reference of a leak; `step 7` then shows whether that ends it."""
        finding = self._finding(text)
        if finding is None:
            if self._patient.report is None:
                raise NeedsProcessError("cut")
            raise UsageError("which leak?", "cut 1")
        self._say(self._patient.cut(finding))

    def do_step(self, text: str) -> bool:
        """step [N]: run N steps and report what they added."""
        count = rows_of(text or "1")
        self._patient.step(count)
        self.steps_wanted = count
        return True

    def do_refresh(self, text: str) -> None:
        """refresh: take the heap of the running process anew, and list what changed since the last time."""
        if not isinstance(self._patient, RunningPatient):
            raise UsageError("'refresh' needs a process that is attached to", "gradlife attach PID -i")
        difference = self._patient.refresh()
        self._say(self._patient.title)
        print_diff(self._console, difference, ROWS)

    def do_save(self, text: str) -> None:
        """save FILE: save the heap as a snapshot file, for `gradlife open FILE -i`."""
        if not text:
            raise UsageError("save where?", "save FILE")
        self._patient.snapshot.save(text)
        self._say(f"saved: gradlife open {text} -i")

    def do_quit(self, text: str) -> bool:
        """quit: leave the session; a stopped program runs to its end."""
        return True

    def do_continue(self, text: str) -> bool:
        """continue: like quit."""
        return True

    def do_EOF(self, text: str) -> bool:
        """End the session at the end of input."""
        self._say("")
        return True

    def do_help(self, text: str) -> None:
        """help [VERB]: what can be asked."""
        verbs = [name for name in self.verbs if not text or name == text]
        if not verbs:
            raise UnknownNameError("verb", text, self.verbs)
        self._show(reports.verb_lines([(getattr(self, f"do_{name}").__doc__ or "") for name in verbs]))

    # --- reading a line ---

    def onecmd(self, line: str) -> bool:
        """Run one line; an error is printed on one line, and the session continues."""
        try:
            return bool(super().onecmd(line))
        except GradlifeError as error:
            self._say(str(error))
        except KeyboardInterrupt:
            self._say("interrupted")
        return False

    def emptyline(self) -> bool:
        """Do nothing: an empty line repeats no command."""
        return False

    def default(self, line: str) -> NoReturn:
        """Report an unknown verb."""
        raise UnknownNameError("verb", line.split()[0], self.verbs, "help")

    def completenames(self, text: str, *ignored: object) -> list[str]:
        """Complete verbs."""
        return [name for name in self.verbs if name.startswith(text)]

    def completedefault(self, text: str, *ignored: object) -> list[str]:
        """Complete types and leak numbers."""
        numbers = [str(number) for number in range(1, len(findings_of(self._patient)) + 1)]
        names = {short_type(row.type) for row in self._patient.snapshot.types()}
        return [word for word in [*numbers, *sorted(names)] if word.startswith(text)]

    # --- arguments ---

    def _finding(self, text: str) -> Finding | None:
        """Return the leak of a number; None if the text is not one."""
        if not re.fullmatch(r"[0-9]{1,3}", text):
            return None
        found = findings_of(self._patient)
        if not 1 <= int(text) <= len(found):
            many = f"there are {len(found)} leaks" if found else "no leak has a number here"
            raise UsageError(f"{many}, {text} is none of them", "leaks")
        return found[int(text) - 1]

    def _trace(self, text: str) -> Trace:
        """Explain why an object is alive, given an address, a type, or a Python expression."""
        if not text:
            raise UsageError("of what?", "a leak's number, an address, a type")
        if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[1-9][0-9]{3,18}", text):
            return self._patient.snapshot.why(int(text, 0))
        snapshot = self._patient.snapshot
        found = None if snapshot.has_type(text) else self._patient.why(text)
        return found if found is not None else snapshot.why(variable_or(snapshot, text))

    def _report(self) -> HuntReport:
        report = self._patient.report
        assert report is not None  # only a report has findings
        return report

    # --- showing ---

    def _show(self, lines: reports.Lines) -> None:
        for line in lines:
            self._console.print(line, end="")

    def _view(self, **tables: object) -> None:
        empty: dict[str, object] = dict.fromkeys(("types", "largest", "cycles", "instances", "holders"), ())
        view = HeapView("", (), 0, 0, 0, (), **{**empty, **tables})  # type: ignore[arg-type]
        self._show(reports.view_lines(view))

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


def rows_of(text: str) -> int:
    """Parse the typed number of rows, or return the default."""
    if not text:
        return ROWS
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise UsageError(f"{text!r} is no number", "a number, as in `step 5`")
    return int(text)


#: In help order.
VERBS = (
    "leaks",
    "why",
    "refs",
    "cycle",
    "retained",
    "find",
    "types",
    "cut",
    "step",
    "refresh",
    "save",
    "help",
    "quit",
    "continue",
)
Session.verbs = VERBS
