"""Growth that a container of the program and one of the standard library hold is shown in the program's."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hunting.growth.test_per_object_growth import findings  # noqa: E402
from step_evidence import evidence  # noqa: E402


@pytest.mark.whole
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


@pytest.mark.whole
def test_log_records_are_found_in_the_buffer_of_their_handler_though_a_dict_holds_the_tensors_of_the_last() -> None:
    latest: dict[int, Any] = {}
    handler = logging.handlers.MemoryHandler(1_000_000, logging.CRITICAL)
    log = logging.Logger("training")
    log.addHandler(handler)

    def step(number: int) -> None:
        image = torch.ones(8)
        log.info("step %d: %s", number, image)
        latest[number % 8] = image

    (one,) = findings(evidence(step, 3, 7, 8, 11))
    assert one.code == "GL508"
    assert one.grows_at is not None
    assert ".buffer" in one.trace.steps[one.grows_at - 1].via
    assert one.per_step.tensors == pytest.approx(1, abs=0.1)
