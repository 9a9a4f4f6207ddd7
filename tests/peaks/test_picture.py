"""The picture of a step, and the table of checkpoints, from made-up recordings."""

from __future__ import annotations

from collections.abc import Mapping

from gradlife.model.peak.report import Checkpoint, Owner, Phase, Picture, Place
from gradlife.peaks.analysis.checkpoints import checkpoint_table
from gradlife.peaks.analysis.picture import MAX_LINES, MAX_MARKS, Painter
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.analysis.timeline import live_bytes
from gradlife.peaks.recording.lifetimes import Operation, Recording, Storage
from peak_recordings import recording, storage


def painted(found: Recording, first: int, end: int, owner: Owner = Owner.NAMED) -> Picture:
    live = live_bytes(found.storages, found.end)
    painter = Painter(found, found.storages, first, end)

    def key(one: Storage) -> tuple[Owner, Place, str]:
        return owner, Place("train.py", one.number), ""

    return painter.picture(key, lambda number: "backward" if number >= 5 else "forward", live)


def test_bands_add_up_to_what_is_alive_at_each_mark() -> None:
    found = recording([storage(0, 30, 1, 8, (2, 3)), storage(1, 20, 4, 6, (4,))], [0, 10])
    picture = painted(found, 0, 10)
    assert [sum(values) for values in zip(*(band.bytes for band in picture.bands), strict=True)] == [
        *(0, 30, 30, 30, 50, 50, 30, 30, 0, 0)
    ]
    assert (picture.marks[picture.peak], picture.phases) == (4, (Phase("forward", 0, 5), Phase("backward", 5, 10)))
    [band, _] = picture.bands
    assert (band.place.line, band.born, band.first_read, band.last_read, band.died) == (0, 1, 2, 3, 8)


def test_the_mark_of_the_peak_is_kept_in_a_long_step() -> None:
    found = recording([storage(0, 30, 777, 778, (777,)), storage(1, 20, None, None)], [0, 1000])
    picture = painted(found, 0, 1000)
    assert (len(picture.marks), picture.marks[picture.peak]) == (MAX_MARKS, 777)


def test_lines_with_few_bytes_are_one_band() -> None:
    found = recording([storage(number, 10 + number, 1, 8) for number in range(MAX_LINES + 5)], [0, 10])
    picture = painted(found, 0, 10)
    assert (len(picture.bands), picture.bands[0].place) == (MAX_LINES + 1, Place())
    assert sum(band.bytes[picture.peak] for band in picture.bands) == sum(10 + n for n in range(MAX_LINES + 5))


def table_of_two(first: str, second: str, seconds: Mapping[str, float]) -> tuple[Checkpoint, ...]:
    """The table of two modules that save 50 each before the loss, which the backward pass reads in turn."""
    contexts = [first, first, second, second, "", "", "", "", ""]
    operations = [Operation("op", (), name, number > 5) for number, name in enumerate(contexts)]
    saved = [storage(0, 50, 0, 9, (1, 8)), storage(1, 50, 2, 8, (3, 7))]
    found = Recording(operations, [*saved, storage(2, 20, 4, 6, (5,))], [0, 9])
    return checkpoint_table(found, saved, Replay(found, found.storages, 0, 9), seconds)


def test_checkpointing_keeps_activations_only_while_they_are_made_and_while_they_are_read() -> None:
    """Two layers save 50 each; the loss is a peak of 20 more, the backward pass reads the layers in turn."""
    rows = table_of_two("layers.0", "layers.1", {"": 10.0, "layers.0": 1.0, "layers.1": 2.0, "layers": 3.0})
    assert rows == (Checkpoint("layers.*", 2, 100, 70, 30.0), Checkpoint("layers", 1, 100, 20, 30.0))


def test_checkpointing_keeps_what_other_modules_read() -> None:
    """The output of each layer is the input of the next, which saves it or keeps it to run again."""
    contexts = ["net.0.0", "net.0.1", "net.1.0", "net.1.1", "", "", "", "", "", ""]
    operations = [Operation("op", (), name, number > 4) for number, name in enumerate(contexts)]
    inner = [storage(0, 50, 0, 9, (1, 8)), storage(1, 50, 2, 8, (3, 7))]
    outputs = [storage(2, 30, 1, 9, (2, 7)), storage(3, 30, 3, 8, (4, 6))]
    found = Recording(operations, [*inner, *outputs, storage(4, 20, 4, 6, (5,))], [0, 10])
    rows = checkpoint_table(found, [*inner, *outputs], Replay(found, found.storages, 0, 10), {})
    assert [(row.module, row.modules, row.saved_bytes) for row in rows] == [("net.*", 2, 100), ("net", 1, 130)]


def test_two_modules_that_save_as_much_are_two_rows_and_one_inside_the_other_is_one() -> None:
    """An encoder and a decoder, each with one child, save 50 each, which the backward pass reads after the peak."""
    seconds = {"": 10.0, "encoder": 2.0, "encoder.0": 1.0, "decoder": 2.0, "decoder.0": 1.0}
    rows = table_of_two("encoder.0", "decoder.0", seconds)
    assert [row.module for row in rows] == ["encoder.0", "decoder.0"]
