"""What pytest loads wherever gradlife is installed. For now it says which gradlife that is, and nothing else."""

import pytest

from gradlife._version import __version__


def pytest_report_header(config: pytest.Config) -> str:
    """Name the version in the header of the run."""
    return f"gradlife: {__version__}"
