"""Report all checked tests: at the end of the run, in files, on GitHub."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import pytest

from gradlife._version import __version__
from gradlife.errors import OutputError
from gradlife.model.trace import text_of, trace_lines
from gradlife.output import STDOUT, is_summary, open_output
from gradlife.overwriting import refuse_overwriting
from gradlife.pytest_plugin.outcomes import github, results, sarif, summary
from gradlife.pytest_plugin.outcomes.baseline import Baseline, Figures, bare, dumps, updated
from gradlife.pytest_plugin.outcomes.results import ATTRIBUTE, Checked
from gradlife.pytest_plugin.outcomes.summary import SuiteResult
from gradlife.pytest_plugin.settings.limit_marks import FIGURES, PROPERTY
from gradlife.pytest_plugin.settings.options import Options
from gradlife.visible_text import visible_json, visible_lines

FORMAT = "gradlife.pytest/1"


class Reporter:
    """Collect the results of every test of a session."""

    def __init__(self, config: pytest.Config, options: Options, baseline: Baseline) -> None:
        self._config = config
        self._options = options
        self._folder = config.invocation_params.dir
        self._baseline = baseline
        self._checked: dict[tuple[str, str], Checked] = {}
        self._figures: dict[str, Figures] = {}
        self._written: list[str] = []
        self._trouble = ""  # what kept a file from being written

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the result attached to a report; if a test is run again, the last one counts."""
        self._note_figures(report)
        text = getattr(report, ATTRIBUTE, None)
        if text is not None:
            item = json.loads(text)
            if item["phase"] == "call":
                self._checked.pop((item["nodeid"], "teardown"), None)
            self._checked[item["nodeid"], item["phase"]] = results.decode(item)

    def _note_figures(self, report: pytest.TestReport) -> None:
        """Take the peak and the growth of a test with a marker; only those of tests that pass are of use."""
        if report.when != "call" or not report.passed:
            return
        found: dict[str, Any] = dict(report.user_properties)
        values = {
            name: found[PROPERTY + name] for name in FIGURES.values() if isinstance(found.get(PROPERTY + name), int)
        }
        if values:
            self._figures[report.nodeid] = Figures(bare(report.nodeid), **values)

    @property
    def suite(self) -> SuiteResult:
        """Return the results so far."""
        return SuiteResult(tuple(self._checked.values()), self._baseline, self._options.update_baseline)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write files; a file that cannot be written is named at the end of the run and fails it."""
        options, result = self._options, self.suite
        try:
            if options.report is not None:
                self._write(options.report, json.dumps(document(result, int(exitstatus)), indent=1) + "\n")
            if options.sarif is not None:
                self._write(options.sarif, sarif.text(result, self._config.rootpath, int(exitstatus), self._folder))
            if options.update_baseline:
                self._write(options.baseline[0], dumps(updated(self._baseline, result.checked, self._figures.values())))
        except OutputError as error:
            self._trouble = f"gradlife: {error}"
            session.exitstatus = pytest.ExitCode.INTERRUPTED

    def check_files(self) -> None:
        """Raise OutputError if a file cannot be written, before any test runs."""
        options = self._options
        for path in (options.report, options.sarif, *options.baseline[: options.update_baseline]):
            target = self._anchored(path)
            if target not in (None, STDOUT) and not is_summary(target):
                refuse_overwriting(target)
            with open_output(target):
                pass

    def _anchored(self, path: str | None) -> str | None:
        """Return a path of the command line as seen from any folder."""
        return path if path in (None, STDOUT) else os.path.join(self._folder, str(path))

    def _write(self, path: str, text: str) -> None:
        with open_output(self._anchored(path)) as output:
            output.write(visible_json(text))
        self._written.append(path)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the section at the end of the run."""
        result = self.suite
        lines = list(summary.lines(result, self._config.get_verbosity()))
        lines += [f"written to {path}" for path in self._written]
        lines += [self._trouble] if self._trouble else []
        if lines:
            terminalreporter.section("gradlife", sep="=")
            for line in lines:
                terminalreporter.write_line(visible_lines(line))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in github.lines(result, self._config.rootpath, self._folder):
                terminalreporter.write_line(line)


def document(suite: SuiteResult, exit_status: int) -> dict[str, Any]:
    """Return all results as JSON."""
    baseline = suite.baseline
    return {
        "format": FORMAT,
        "gradlife": __version__,
        "exit_status": exit_status,
        "totals": suite.totals,
        "tests": [results.encode(one, lambda trace: text_of(trace_lines(trace))) for one in suite.checked],
        "baseline": {
            "entries": len(baseline.entries),
            "expired": [asdict(one) for one in baseline.expired],
            "unused": [asdict(one) for one in baseline.unused(suite.checked)],
            "to_renew": [asdict(one) for one in baseline.to_renew(suite.checked)],
        },
    }
