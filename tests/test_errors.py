"""Errors are one line each: what happened, and what to try."""

import pytest

from gradlife import errors
from gradlife.errors import GradlifeError, MissingDependencyError, UnknownNameError, UsageError, shortened


def test_an_error_says_what_happened_and_what_to_try() -> None:
    assert str(GradlifeError("the disk is full", "rm report.json")) == "the disk is full (try: rm report.json)"
    assert str(GradlifeError("the disk is full")) == "the disk is full"


def test_an_error_is_one_line_whatever_went_into_it() -> None:
    assert str(GradlifeError("first\n  second", "third\tfourth")) == "first second (try: third fourth)"


@pytest.mark.parametrize(
    ("error", "status"), [(GradlifeError, 3), (UsageError, 2), (errors.ScenarioError, 2), (errors.OutputError, 2)]
)
def test_the_class_decides_the_exit_status(error: type[GradlifeError], status: int) -> None:
    assert error("x").exit_status == status


def test_an_unknown_name_is_reported_with_its_nearest_ones() -> None:
    error = UnknownNameError("backend", "mini:torch-2.31", ["fake", "mini:torch-2.13", "mini:torch-1.2"])
    assert str(error) == "unknown backend 'mini:torch-2.31' (try: mini:torch-2.13 or mini:torch-1.2)"
    assert isinstance(error, UsageError)


def test_a_name_like_no_other_falls_back_to_the_given_hint() -> None:
    assert str(UnknownNameError("backend", "zzz", ["fake"])) == "unknown backend 'zzz'"
    assert str(UnknownNameError("backend", "zzz", ["fake"], "gradlife --help")).endswith("(try: gradlife --help)")


def test_a_very_long_name_does_not_drown_the_line() -> None:
    assert shortened("x" * 200) == "x" * 77 + "..."
    assert len(str(UnknownNameError("scenario", "x" * 200, []))) < 110


def test_a_missing_package_is_reported_with_the_command_that_installs_it() -> None:
    assert (
        str(MissingDependencyError("PyTorch", "torch"))
        == "PyTorch is not installed (try: pip install 'gradlife[torch]')"
    )


def test_a_missing_extension_is_an_import_error_too() -> None:
    with pytest.raises(
        ImportError, match=r"gradlife\._engine is missing \(try: make build, in a checkout; or pip install \.\)"
    ):
        raise errors.ExtensionMissingError("gradlife._engine")
