"""A scenario as plain data: what its file declares, without its code."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.reading import Json
from gradlife.model.source_text import Lines


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared reading; see `gradlife.scenario.Expect`."""

    subject: str
    value: Json
    probe: str = "liveness"
    stage: str | None = None
    on: str = "*"
    because: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredDifference:
    """A declared difference between two systems; see `gradlife.scenario.Differs`."""

    subject: str
    probe: str
    between: str
    because: str = ""
    stage: str = "*"


@dataclass(frozen=True, slots=True)
class ScenarioInfo:
    """One scenario: its identity, its story, and what it declares."""

    id: str  # suite/name
    name: str
    suite: str
    title: str
    origin: tuple[str, ...] = ()
    pattern: str | None = None
    fixed_of: str | None = None  # name of the leaking story that this one fixes
    fix: Lines = ""
    story: Lines = ""
    needs: str = ""
    isolation: str = "fork"
    file: str = ""
    line: int = 0
    expects: tuple[Declared, ...] = ()
    differs: tuple[DeclaredDifference, ...] = ()
    context: str = ""  # the context it runs in, if it has several
    profile: str = ""  # the engine's profile that it is about: "torch-1.2+function_ownership=weak_at_construction"

    @property
    def family(self) -> str:
        """The story's name, the same in all its contexts."""
        return self.name.removesuffix(f"[{self.context}]")
