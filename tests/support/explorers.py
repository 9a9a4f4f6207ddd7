"""An application to press keys in, and what then stands on its screen; a program of known holders, some with hostile names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from gradlife.errors import GradlifeError
from gradlife.interactive.tui.app import Explorer

SCRIPT = """
class Order:
    def __init__(self, number):
        self.number = number + 1000
        self.note = [number]

class Shop:
    def __init__(self, count):
        self.orders = [Order(number) for number in range(count)]
        self.biggest = bytearray(5_000_000)

shop = Shop(5000)
shop.favourite = shop.orders[7]
setattr(shop, "[red]\\x1b[31m\\u202edesrever", ["hostile"])
hostile = type("[bold]Evil[/bold]\\x1b[2J", (), {})()
hostile.itself = hostile
"""

Script = Callable[[Explorer, "Pilot[GradlifeError | None]"], Awaitable[None]]


async def settled(app: Explorer, pilot: Pilot[GradlifeError | None]) -> None:
    """All that was begun is done."""
    for _ in range(3):
        await pilot.pause(0.08)  # longer than the cursor has to rest
        for worker in list(app.workers):
            with suppress(WorkerCancelled):  # an application that ends cancels the work that has not ended
                await worker.wait()
    await pilot.pause()


def explored(path: str, script: Script, size: tuple[int, int] = (120, 40)) -> Explorer:
    """The application after a script of keys."""
    app = Explorer(path)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await script(app, pilot)

    asyncio.run(run())
    return app


def screen(app: Explorer) -> list[str]:
    """Return the screen, line by line."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def type_in(pilot: Pilot[GradlifeError | None], text: str) -> None:
    """A text, letter by letter, and Enter."""
    names = {" ": "space", "_": "underscore", ".": "full_stop"}
    await pilot.press("slash", *(names.get(letter, letter) for letter in text), "enter")
