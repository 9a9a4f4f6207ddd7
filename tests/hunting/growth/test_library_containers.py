"""Growth that a container of the program and one of the standard library hold is shown in the program's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hunting.growth.test_growth import evidence  # noqa: E402
from hunting.growth.test_per_object_growth import findings  # noqa: E402


def test_tasks_that_wait_for_an_event_are_found_in_the_set_of_the_program_and_not_among_the_waiters() -> None:
    tasks: set[Any] = set()
    done = asyncio.Event()

    async def upload(image: Any) -> None:
        await done.wait()

    async def start() -> None:
        tasks.add(asyncio.create_task(upload(torch.ones(8))))
        await asyncio.sleep(0)

    async def finish() -> None:
        done.set()
        await asyncio.gather(*tasks)

    with asyncio.Runner() as runner:
        (one,) = findings(evidence(lambda number: runner.run(start()), 3, 7, 8, 11))
        runner.run(finish())
    assert one.grows_at is not None
    assert "'tasks'" in one.trace.steps[one.grows_at - 1].via
