"""The plugin's command line and its options."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

FAIL, WARN, ALLOW = "fail", "warn", "allow"


class LeaksAction(argparse.Action):
    """``--leaks`` and ``--leaks=warn``. Any other value is a path: `pytest --leaks tests` means both."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the mode, or keep the path for `take_path`."""
        is_mode = values in (FAIL, WARN)
        setattr(namespace, self.dest, values if is_mode else FAIL)
        namespace.leaks_path = None if is_mode or values == self.const else values


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("gradlife", "memory leaks and lifetimes")
    group.addoption(
        "--leaks",
        action=LeaksAction,
        nargs="?",
        const="",
        default=None,
        metavar="warn|fail",
        help="check every test for tensors, grad nodes and storages that outlive it; a leak fails it, or is reported (warn)",
    )
    group.addoption(
        "--leaks-repeat",
        type=positive,
        default=None,
        metavar="N",
        help="repeat every test until N runs are counted: what each run leaves behind is a leak",
    )
    group.addoption(
        "--leaks-cycles",
        choices=(FAIL, WARN, ALLOW),
        default=None,
        help="with --leaks: how to judge tensors in cycles that wait for the collector (fail, from 4 KiB on)",
    )
    group.addoption(
        "--leaks-baseline",
        action="append",
        default=[],
        metavar="FILE",
        help="a file of known leaks: only others fail; may be given several times, for the parts of a divided suite",
    )
    group.addoption(
        "--leaks-update-baseline", action="store_true", help="write what leaks now to the (first) baseline, and pass"
    )
    group.addoption("--leaks-report", default=None, metavar="FILE", help="write all findings as JSON")
    group.addoption("--leaks-sarif", default=None, metavar="FILE", help="write new leaks as SARIF, for code scanning")
    group.addoption(
        "--gradlife-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="a system for lifetime stories and for the argument gradlife_backend; may be given several times "
        "(those that gradlife run compares)",
    )


def positive(text: str) -> int:
    """Parse a number of runs."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs")
    return int(text)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the plugin."""

    leaks: str | None = None  # "warn", "fail"; None: only tests with a marker are checked
    repeat: int | None = None
    cycles: str | None = None
    baseline: tuple[str, ...] = ()
    update_baseline: bool = False
    report: str | None = None
    sarif: str | None = None

    @property
    def checks_all(self) -> bool:
        """Whether tests without a marker are checked, too."""
        return self.leaks is not None or self.repeat is not None

    @property
    def is_any(self) -> bool:
        """Whether there is anything to check or write even if no test is marked."""
        return self.checks_all or bool(self.baseline or self.report or self.sarif)


def options_of(config: pytest.Config) -> Options:
    """Read the options of the command line; a contradiction is refused with one line."""
    get = config.getoption
    options = Options(
        leaks=get("leaks"),
        repeat=get("leaks_repeat"),
        cycles=get("leaks_cycles"),
        baseline=tuple(get("leaks_baseline")),
        update_baseline=get("leaks_update_baseline"),
        report=get("leaks_report"),
        sarif=get("leaks_sarif"),
    )
    if options.update_baseline and not options.baseline:
        raise pytest.UsageError("gradlife: --leaks-update-baseline needs a file: --leaks-baseline FILE")
    return options


def take_path(config: pytest.Config) -> None:
    """Return the path that followed ``--leaks``."""
    path = getattr(config.option, "leaks_path", None)
    if path is None:
        return
    config.option.leaks_path = None
    is_module = config.option.pyargs
    if not is_module and not (config.invocation_params.dir / path.partition("::")[0]).exists():
        raise pytest.UsageError(f"gradlife: --leaks={path}: {WARN!r} or {FAIL!r}, and there is no such path either")
    given = list(config.known_args_namespace.file_or_dir)
    config.args = [path, *given]
    config.args_source = config.ArgsSource.ARGS


def free_path(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Rewrite ``--leaks PATH`` as ``--leaks=fail PATH``. Another word after ``--leaks`` is left to `take_path`."""
    at = args.index("--leaks") if "--leaks" in args else len(args)
    path = args[at + 1].partition("::")[0] if at + 1 < len(args) else ""
    if path and path not in (FAIL, WARN) and (config.invocation_params.dir / path).exists():
        args[at] = f"--leaks={FAIL}"
        config.known_args_namespace = parser.parse_known_args(args, namespace=copy.copy(config.option))
