"""A program run with other texts of some of its files, the same seed, and its losses noted: what a proof compares."""

from __future__ import annotations

import importlib.machinery
import json
import os
import random
import types
from collections.abc import Mapping
from typing import Any

from gradlife.hunting.process.import_watch import when_imported
from gradlife.peaks.recording.torch import number_in
from gradlife.peaks.sources import program

#: The seed of both runs.
SEED = 20_240_501


class EditedProgram:
    """The texts of edited files by their absolute paths, and the losses of the run."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._codes = {os.path.abspath(file): text for file, text in sources.items()}
        self.losses: list[str] = []

    def install(self) -> None:
        """Compile the edited texts where the program imports these files; seed, and hear backward passes."""
        plain = importlib.machinery.SourceFileLoader.get_code
        edited = self.code

        def get_code(loader: Any, name: str) -> types.CodeType | None:
            return edited(loader.path) or plain(loader, name)

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
        program.EDITED.update(self._codes)
        random.seed(SEED)
        when_imported("numpy.random", lambda numpy_random: numpy_random.seed(SEED))
        when_imported("torch", lambda torch: torch.manual_seed(SEED))
        when_imported("torch.autograd", self._hear)

    def code(self, file: str) -> types.CodeType | None:
        """The code of an edited file; None if it is not edited."""
        text = self._codes.get(os.path.abspath(file))
        return compile(text, file, "exec", dont_inherit=True) if text is not None else None

    def _hear(self, autograd: Any) -> None:
        plain = autograd.backward

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            self._note(tensors)
            plain(tensors, *args, **kwargs)

        autograd.backward = backward

    def _note(self, tensors: Any) -> None:
        """Note the values that a backward pass begins with, as they are to the last bit."""
        values = map(number_in, tensors if isinstance(tensors, (list, tuple)) else [tensors])
        self.losses += [value.hex() for value in values if value is not None]


def edited_program(path: str) -> EditedProgram:
    """The program that a file of JSON describes: the texts of its edited files."""
    with open(path, encoding="utf-8") as file:
        return EditedProgram(json.load(file))
