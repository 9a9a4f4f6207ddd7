"""A peak report made up for tests of reports: nothing is run."""

from __future__ import annotations

from dataclasses import replace

from gradlife.model.peak.report import (
    Band,
    Checkpoint,
    Edit,
    LineChange,
    Moment,
    Owner,
    OwnerShare,
    PeakReport,
    Phase,
    Picture,
    Place,
    ProcessMemory,
    Saving,
    UnreadMemory,
    Use,
)

FORWARD = Moment("aten.addmm", Place("train.py", 15, "main"), "forward", "head")
LOSS = Moment("aten._log_softmax", Place("train.py", 21, "main"), "forward")
BACKWARD = Moment("aten._log_softmax_backward_data", Place("train.py", 23, "main"), "backward")

SAVING = Saving(
    "local logits of main (train.py:23)",
    Owner.NAMED,
    Use.DRAG,
    16_384_000,
    1,
    FORWARD,
    LOSS,
    LOSS,
    16_384_000,
    105_231_444,
    1,
    16_384_000,
    (
        Edit(
            "`del logits` after line 21", "train.py", 21, (LineChange(22, 21, ("        del logits",)),), "+del logits"
        ),
    ),
)

REPORT = PeakReport(
    "train.py",
    "AdamW.step",
    steps=3,
    warmup_steps=2,
    operations=1077,
    peak_bytes=121_615_444,
    peak_at=BACKWARD,
    owners=(
        OwnerShare(Owner.SAVED, 50_601_984, 55),
        OwnerShare(Owner.TEMPORARY, 32_768_000, 2),
        OwnerShare(Owner.NAMED, 16_392_200, 4, 16_384_000),
        OwnerShare(Owner.OPTIMIZER, 14_568_908, 153),
        OwnerShare(Owner.PARAMETER, 7_284_352, 51),
    ),
    uses={"drag": 16_384_000, "void": 0, "lag": 131_072, "unread": 0, "read later": 105_100_372},
    savings=(SAVING,),
    lower_bound_bytes=105_223_244,
)

#: What no recorded step reads.
UNREAD = UnreadMemory(
    "state of trainer.first_phase",
    Owner.OPTIMIZER,
    14_568_908,
    153,
    3,
    "if `trainer.first_phase.step()` is not called again: drop the optimizer, and its scheduler",
)

#: The same with a picture, a table of checkpoints and the process's memory.
PICTURED = replace(
    REPORT,
    operations=40,
    picture=Picture(
        (0, 20, 39),
        (Phase("forward", 0, 15), Phase("backward", 15, 40)),
        (
            Band(Owner.PARAMETER, Place(), "", (7_284_352,) * 3, 51, -40, 3, 39, None),
            Band(Owner.NAMED, Place("train.py", 15), "head", (0, 114_331_092, 9), 3, 5, 10, 20, 30),
        ),
        1,
    ),
    checkpoints=(Checkpoint("blocks.*", 2, 40_000_000, 30_000_000, 12.5),),
    memory=ProcessMemory(102_000_000, 100_000_000),
)
