"""The request that failed, as the exception that is being handled tells it."""

from __future__ import annotations

import inspect

import pytest

from gradlife.devices.failed_request import HandledFailure, handled_failure
from gradlife.model.device.memory import FailedRequest, Frame

CUDA = (
    "CUDA out of memory. Tried to allocate 20.50 MiB. GPU 1 has a total capacity of 79.18 GiB of which 1.25 GiB is free. "
    "Process 7 has 814.00 MiB memory in use. 1.58 GiB allowed; Of the allocated memory 1.55 GiB is allocated by PyTorch"
)
XPU = "XPU out of memory. Tried to allocate 512 bytes. GPU 0 has a total capacity of 47.99 GiB. Of the allocated memory"


class OutOfMemoryError(RuntimeError):
    """As torch's."""


def handled(error: Exception) -> HandledFailure | None:
    try:
        raise error
    except Exception:
        return handled_failure()


def here(line: int) -> Frame:
    return Frame(__file__, inspect.getsourcelines(handled)[1] + line, "handled")


@pytest.mark.parametrize(
    ("said", "kind", "device", "nbytes", "free"),
    [(CUDA, "cuda", 1, 20 * 2**20 + 2**19, 2**30 + 2**28), (XPU, "xpu", 0, 512, 0)],
)
def test_the_error_that_is_handled_says_device_size_and_line(
    said: str, kind: str, device: int, nbytes: int, free: int
) -> None:
    assert handled(OutOfMemoryError(said)) == HandledFailure(kind, FailedRequest(device, nbytes, free, (here(2),)))


@pytest.mark.parametrize(
    "error",
    [RuntimeError(CUDA), OutOfMemoryError("no room"), OutOfMemoryError(), OutOfMemoryError(7), ValueError("x")],
)
def test_other_errors_say_nothing_of_a_request(error: Exception) -> None:
    assert handled(error) is None


def test_without_an_error_there_is_no_request() -> None:
    assert handled_failure() is None


def test_an_unknown_unit_is_no_size() -> None:
    found = handled(OutOfMemoryError(CUDA.replace("MiB", "TiB", 1)))
    assert found is not None
    assert found.request.bytes == 0
