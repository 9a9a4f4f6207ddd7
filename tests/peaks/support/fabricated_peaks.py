"""A peak report made up for tests of reports: nothing is run."""

from __future__ import annotations

from gradlife.model.peak.report import Edit, LineChange, Moment, Owner, OwnerShare, PeakReport, Place, Saving, Use

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
