"""The recording of a peak in the process that runs the program: of a few of its steps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from gradlife.errors import GradlifeError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.rank import write_result
from gradlife.hunting.process.settings import END, Settings
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.hunting.session.step_counter import end_program
from gradlife.hunting.steps.count_step import CountStep
from gradlife.hunting.steps.listening import TorchSteps, hear_torch
from gradlife.hunting.steps.optimizers import WARMUP_STEPS_ALONE
from gradlife.hunting.steps.targets import FunctionTarget, load
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.own_thread import is_main_thread
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import RECORDED, WARMUP, PeakSession
from gradlife.program.child import Child, guarded
from gradlife.program.peak.api import peak_of
from gradlife.program.peak.parent import REPORT
from gradlife.program.progress import BEGUN, StepProgress
from gradlife.program.script import Ended
from gradlife.program.trial import losses_of
from gradlife.safe_access import short_class_name

#: Backward passes before they count as steps: few, because a program without an optimizer may have ten in all.
WARMUP_PASSES = 4

#: Steps before the recording if those of an optimizer count: it has shown by earlier ones what a step is.
WARMUP_BY_OPTIMIZER = 1

#: Reasons for no report.
NO_STEPS = (
    "no step was seen: no optimizer stepped, no DataLoader gave batches, no backward pass ran;"
    " --step-on MODULE:FUNCTION counts calls of a function"
)
NEEDED = "a peak needs five"
NEEDED_BY_OPTIMIZER = (
    f"a peak needs {WARMUP_STEPS_ALONE + WARMUP_BY_OPTIMIZER + RECORDED}: the last {RECORDED} are recorded"
)


class PeakChild(Child):
    """Records one program in this process."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._contexts = Contexts()
        self._session: PeakSession | None = None
        self._steps = 0
        self._heard: TorchSteps | None = None
        self._has_failed = False  # whether an error ended the recording

    def _prepare(self) -> None:
        """Attach the recorder. A signal that ends a rank is recorded."""
        when_imported("torch.optim.optimizer", self._contexts.attach)
        super()._prepare()
        if self._is_unwatched_rank:
            InterimReport(self, -1).start()

    def _run_function(self, target: FunctionTarget) -> Ended:
        def record() -> None:
            stepper = load(target)
            self._announce(BEGUN)
            self._write(peak_of(stepper, self._settings.target))

        return guarded(record)

    def _hear(self) -> None:
        self._heard = hear_torch(
            self._begin_again,
            self._begin_again,
            warmup_passes=WARMUP_PASSES,
            counts_replays=False,
            trusts_only_optimizer=True,
        )

    def _begin_again(self, stepped_by: str) -> CountStep:
        """Record steps of this kind, unless the report is known or another process takes the steps."""
        if not self._may_step():
            return lambda: None
        if self._session is not None:
            if self._session.report is not None:
                return self._step
            self._session.close()
        is_optimizer = self._heard is not None and self._heard.optimizers.chosen_steps > 0
        self._session = PeakSession(self._contexts, self._write, WARMUP_BY_OPTIMIZER if is_optimizer else WARMUP)
        before = self._heard.taken if self._heard is not None else 0
        self._session.about = PeakReport(self._settings.target, stepped_by, warmup_steps=before)
        return self._step

    def _step(self) -> None:
        if self._session is None or self._is_copy:
            return
        try:
            if not self._has_failed:
                self._session.step()
        except Exception as error:  # of the recording, not of the program
            self._fail(error)
        self._steps += 1
        if self._settings.tells_progress and self._session.report is None:
            self.announce_progress()
        if self._settings.steps is not None and self._steps >= self._settings.steps:
            if not is_main_thread():
                self.leave(END, 0, None)
            end_program()

    def _progress(self) -> StepProgress:
        return StepProgress(self._session.about.stepped_by if self._session is not None else "", self._steps)

    def _fail(self, error: Exception) -> None:
        """Record no more, and say why in the report."""
        assert self._session is not None
        self._has_failed = True
        words = str(error) if isinstance(error, GradlifeError) else f"{short_class_name(error)}: {error}"
        with suppress(Exception):
            self._session.close()
        self._session.about = replace(self._session.about, trouble=f"the recording itself failed: {words}")

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Leave the report at the end, with the program's status, or with why there is none."""
        if moment != END or self._is_copy or not self._is_mine():
            return
        session = self._session
        raised = f" with {short_class_name(error)}" if error is not None else ""
        taken = self._heard.optimizers.heard if self._heard is not None else 0
        if taken:
            ended_early = (
                f"the program ended{raised} after {taken} optimizer step{'s' * (taken > 1)}; {NEEDED_BY_OPTIMIZER}"
            )
        else:
            ended_early = f"the program ended{raised} after {self._steps} counted steps; {NEEDED}"
        if session is None:
            report = PeakReport(self._settings.target, "", trouble=ended_early if raised or taken else NO_STEPS)
        else:
            try:
                session.conclude()
            except Exception as failure:
                self._fail(failure)
            report = session.report or replace(session.about, trouble=session.about.trouble or ended_early)
        self._write(replace(report, script_status=status))
        if self._is_unwatched_rank:
            write_result(self._settings.folder, status)

    def _write(self, report: PeakReport) -> None:
        if self._settings.trial:
            report = replace(report, losses=tuple(loss.hex() for loss in losses_of(self._settings.trial)))
        self._write_text(codec.dumps(report), REPORT)
