"""The only import of a scenario file. A story is written once and runs on every framework with torch's public names.

This file imports only the standard library and stays in the Python 3.7 subset, because scenario files also run inside
interpreters as old as the frameworks that they describe. A scenario looks like this::

    from gradlife.scenario import Expect, scenario

    @scenario(
        title="ctx keeps its own output",
        origin=["pytorch/pytorch#25340"],
        pattern="GL101",
        expects=[Expect("ctx", "never", on="torch-1.1 torch-1.2", because="..."),
                 Expect("ctx", "gc", because="...")],
    )
    def ctx_keeps_output(lab):
        '''The story, for a newcomer: who owns whom at each stage, why, and what the fix is.'''
        fw = lab.fw                        # torch's public names, whichever framework runs
        ...
        lab.watch("ctx", y.grad_fn)        # weakly: the lab never keeps a subject alive
        lab.stage("forward done")
        del y
        lab.stage("output dropped", all_names_gone=True)

    @ctx_keeps_output.fixed(title="...", fix="store y.detach()", expects=[Expect("ctx", "del")])
    def ctx_keeps_output_fixed(lab): ...
"""

from __future__ import annotations

import inspect
import operator
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Callable, Iterable

#: The global variable in which a scenario file collects its scenarios, in file order.
COLLECTED = "__gradlife_scenarios__"

#: The process a scenario runs in: a child forked from a warm server, or its own interpreter.
ISOLATIONS = ("fork", "fresh")


#: The contexts that a story may run in, with the features that each needs (see `scenario`).
CONTEXTS = {
    "plain": "",
    "no_grad": "",
    "checkpoint": "checkpoint_by_hooks",
    "reentrant": "utils.checkpoint.checkpoint",
    "exception": "",
    "skipped": "",
    "thread": "",
    "compile": "compile",
}

EVERYWHERE = "*"
NAMED_ONLY = ("micrograd",)  # imitates no release: a declaration must give its full name


#: A range of releases: the framework, then its bounds.
RANGE = re.compile(r"([^<>=,]+)((?:[<>]=?\d+(?:\.\d+)*(?:,(?=[<>])|$))+)")
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def matches(patterns: str, *names: str) -> bool:
    """Whether one of the space-separated patterns matches one of the names.

    A pattern is for fnmatch, or a range of releases such as `torch>=2.13` or `torch>=1.10,<2.10`.
    """
    return any(
        is_in_range(name, pattern) if "<" in pattern or ">" in pattern else fnmatchcase(name, pattern)
        for pattern in patterns.split()
        for name in names
    )


def is_in_range(name: str, releases: str) -> bool:
    """Whether a release such as `torch-2.13` is in a range."""
    found = RANGE.fullmatch(releases)
    if found is None:
        raise ValueError(f"{releases!r} is not a range of releases, such as torch>=1.10,<2.10")
    framework, _, version = name.rpartition("-")
    return (
        framework == found.group(1)
        and re.fullmatch(r"\d+(\.\d+)*", version) is not None
        and all(
            COMPARE[sign](release_numbers(version), release_numbers(bound))
            for sign, bound in re.findall(r"([<>]=?)([\d.]+)", found.group(2))
        )
    )


def release_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a release, in the order of releases."""
    return tuple(int(number) for number in version.split("."))


def applies_on(on: str, system: str, profile: str) -> bool:
    """Whether a declaration with these patterns applies to the system."""
    return matches(on, system, profile) and not (on == EVERYWHERE and profile in NAMED_ONLY)


def profile_name(framework: str, version: str) -> str:
    """Return the profile of a real release: `torch-2.13` for torch 2.13.0+cpu."""
    numbers = re.findall(r"\d+", version)[:2]
    return "-".join(part for part in (framework.rpartition(".")[2], ".".join(numbers)) if part)


def require_texts(what: str, fields: dict[str, Any]) -> None:
    """Raise TypeError if one of these fields is no text, while the line of the scenario file is still known."""
    for name, value in fields.items():
        if not isinstance(value, str):
            raise TypeError(f"{what}: {name} must be a str, not {type(value).__name__}")


def fields_of(declared: Any, *names: str) -> dict[str, Any]:
    """Return these fields by name."""
    return {name: getattr(declared, name) for name in names}


@dataclass(frozen=True)
class Expect:
    """A declared reading. If several match a (subject, probe, stage), the first that applies to the system counts."""

    subject: str
    value: Any
    probe: str = "liveness"
    stage: str | None = None  # None: the last stage that has such a reading
    on: str = EVERYWHERE  # space-separated patterns (see `matches`) of the profile name or the full system name
    because: str = ""
    within: str = EVERYWHERE  # space-separated fnmatch patterns of the contexts, where a story runs in several

    def __post_init__(self) -> None:
        optional = ("stage",) if self.stage is not None else ()
        require_texts("Expect", fields_of(self, "subject", "probe", "on", "because", "within", *optional))
        matches(self.on, "")  # raises if a range is malformed, while the line of the scenario file is still known


@dataclass(frozen=True)
class Differs:
    """A known difference between two systems, with its reason. subject, probe and stage may be fnmatch patterns."""

    subject: str
    probe: str = "*"
    between: str = "*"  # two space-separated patterns (see `matches`) of system or profile names, or one for both
    because: str = ""
    stage: str = "*"

    def __post_init__(self) -> None:
        require_texts("Differs", fields_of(self, "subject", "probe", "between", "because", "stage"))
        matches(self.between, "")

    def covers(self, subject: str, probe: str, stage: str) -> bool:
        """Whether this declaration covers the reading."""
        return fnmatchcase(subject, self.subject) and fnmatchcase(probe, self.probe) and fnmatchcase(stage, self.stage)

    def is_about(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Whether this is about these two systems, each given as (full name, profile name), in either order."""
        first, _, second = self.between.strip().partition(" ")
        second = second.strip() or first
        return (matches(first, *one) and matches(second, *other)) or (matches(first, *other) and matches(second, *one))


class Lab:
    """The argument of a scenario: the framework, weak watches of objects, and the stages of the story.

    The lab never keeps a subject alive and never changes what it measures. The cyclic collector is off for the whole
    story, except during `collect` and a stage with all names gone.
    """

    fw: Any  #: the framework under torch's public names
    system: str  #: the system's full name, such as "mini:torch-1.2"
    profile: str  #: the profile that it imitates or is, such as "torch-1.2"
    context: str = ""  #: the context in which the story runs, if it has several: "plain", "no_grad"

    def watch(self, name: str, obj: Any) -> None:
        """Watch an object weakly from now on, under this name.

        A tensor's storage becomes a second subject, `NAME.storage`. An object that accepts no weak reference gets a
        canary in its `metadata` or among its attributes; if it accepts neither, it is inconclusive.
        """
        raise NotImplementedError

    def watch_first(self, name: str, obj: Any) -> None:
        """Watch the first object given under this name: a segment under a checkpoint is computed twice."""
        raise NotImplementedError

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function in the story's context: under no_grad, under a checkpoint, in a thread, compiled."""
        raise NotImplementedError

    def backward(self, output: Any) -> None:
        """Run backward from the sum of an output; a context may skip it, or break it off with an exception."""
        raise NotImplementedError

    def stage(self, name: str, all_names_gone: bool = False) -> None:
        """Take the readings of every subject now.

        all_names_gone declares that the story has dropped every name of every subject, so each gets its lifetime
        verdict: `del`, `gc`, `held` (by objects passed to `hold`) or `never`. The collector then runs after the
        readings.
        """
        raise NotImplementedError

    def hold(self, obj: Any) -> None:
        """Hold an object, as a declared root, until `release` or the end of the story."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop everything that was passed to `hold`."""
        raise NotImplementedError

    def identity(self, name: str, getter: Callable[[], Any], setter_attr: bool = True) -> None:
        """Test whether the getter always returns the same Python object for one C++ object.

        Readings (probe `identity`, subject `NAME.aspect`): `distinct ids` of 8 reads with nothing held, `distinct ids
        apart` with other tensors made and kept between, `is same`, `type`, `attribute kept` after every name is dropped
        (skipped with setter_attr=False), `weak reference kept`.
        """
        raise NotImplementedError

    def value(self, name: str, value: Any) -> None:
        """Record a plain value of the story: a scalar, a text or a list of them; a tensor by its numbers."""
        raise NotImplementedError

    def attempt(self, name: str, action: Callable[[], Any]) -> Any:
        """Run the action; record and return its plain value, or "Type: first line" of its exception."""
        raise NotImplementedError

    def refcount(self, name: str, obj: Any) -> None:
        """Record the Python reference count of a named object beyond that of a named control object."""
        raise NotImplementedError

    def collect(self) -> None:
        """Run the cyclic collector twice now, and flush the interpreter's trashcan."""
        raise NotImplementedError

    def tensor(self, n: int = 4, requires_grad: bool = False) -> Any:
        """Make a float32 tensor of n ones."""
        raise NotImplementedError

    def bytes_alive(self, name: str) -> int | None:
        """Return the bytes of a watched tensor's storage if it is alive, 0 if it is dead, None if unknown."""
        raise NotImplementedError

    def at_exit(self, text: str) -> None:
        """Write a line to standard error, bypassing Python's buffers: stories about interpreter exit report this way.

        These lines become readings of probe `exit` in scenarios with isolation="fresh". A `__del__` or an atexit
        function may call it, however late.
        """
        raise NotImplementedError


Story = Callable[[Lab], None]


class Scenario:
    """One lifetime story and its declarations. Made by `scenario` and `Scenario.fixed`."""

    def __init__(
        self,
        function: Story,
        title: str,
        origin: Iterable[str] = (),
        pattern: str | None = None,
        expects: Iterable[Expect] = (),
        differs: Iterable[Differs] = (),
        needs: str = "",
        isolation: str = "fork",
        fix: str = "",
        fixed_of: Scenario | None = None,
        context: str = "",
        profile: str = "",
    ) -> None:
        if isolation not in ISOLATIONS:
            raise ValueError(f"isolation of {function.__name__} is {isolation!r}, not one of {ISOLATIONS}")
        if isinstance(origin, str):
            raise TypeError(f"origin of {function.__name__} is a text, not a list of them")
        origin = tuple(origin)
        texts = {"title": title, "needs": needs, "fix": fix, "context": context, "profile": profile}
        texts.update((f"origin {number}", one) for number, one in enumerate(origin, 1))
        if pattern is not None:
            texts["pattern"] = pattern
        require_texts(f"scenario {function.__name__}", texts)
        self.function = function
        self.name = f"{function.__name__}[{context}]" if context else function.__name__
        self.context = context
        self.title = title
        self.origin = origin
        self.pattern = pattern
        self.expects = tuple(expects)
        self.differs = tuple(differs)
        self.needs = f"{needs} engine".strip() if profile and "engine" not in needs.split() else needs
        self.profile = profile
        self.isolation = isolation
        self.fix = fix
        self.fixed_of = fixed_of
        self.twins: list[Scenario] = []  # its fixed twins
        self.story = inspect.cleandoc(function.__doc__ or "")
        self.file = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        function.__globals__.setdefault(COLLECTED, []).append(self)

    def __call__(self, lab: Lab) -> None:
        """Run the story."""
        self.function(lab)

    def __repr__(self) -> str:
        return f"<scenario {self.name}>"

    def fixed(
        self,
        title: str,
        fix: str,
        expects: Iterable[Expect] = (),
        differs: Iterable[Differs] = (),
        origin: Iterable[str] | None = None,
        needs: str | None = None,
        isolation: str | None = None,
        profile: str | None = None,
    ) -> Callable[[Story], Scenario]:
        """Decorate the fixed story: the same except for the fix, so that each is the other's control.

        origin, needs, isolation and profile default to those of the leaking story.
        """

        def decorate(function: Story) -> Scenario:
            twin = Scenario(
                function,
                title,
                self.origin if origin is None else origin,
                self.pattern,
                expects,
                differs,
                self.needs if needs is None else needs,
                self.isolation if isolation is None else isolation,
                fix,
                self,
                profile=self.profile if profile is None else profile,
            )
            self.twins.append(twin)
            return twin

        return decorate


def scenario(
    title: str,
    origin: Iterable[str] = (),
    pattern: str | None = None,
    expects: Iterable[Expect] = (),
    differs: Iterable[Differs] = (),
    needs: str = "",
    isolation: str = "fork",
    contexts: str = "",
    profile: str = "",
) -> Callable[[Story], Scenario]:
    """Decorate a story, a function of one `Lab`; its docstring is the story's text.

    needs: space-separated features of the framework, without which the scenario is not available: `hooks`
    (saved_tensors_hooks), `numpy`, `engine` (the mini engine only), `legacy` (instances of a Function can be called),
    `cxx_metadata`, `checkpoint_by_hooks`, `compile`, `ctx_attributes`, `none_gradients` (from a Function's backward),
    `node_hooks`, `tensor_attributes`, `tensor_weakrefs`, `module_hook_handles`, `added_param_groups`,
    `param_group_items`, or a dotted name under the framework such as `autograd.graph.save_on_cpu`.

    contexts: space-separated names of CONTEXTS. The story becomes one scenario per context, `NAME[CONTEXT]`, and uses
    `Lab.forward` and `Lab.backward` for the parts that depend on the context. The first scenario is returned.

    profile: the engine's profile for a story about a design that no release has, such as
    `torch-1.2+function_ownership=weak_at_construction`. The engine takes it on for the story. No other system can answer:
    the story runs on `mini:torch-1.2` only, and is not available elsewhere.
    """

    def decorate(function: Story) -> Scenario:
        if not contexts:
            return Scenario(function, title, origin, pattern, expects, differs, needs, isolation, profile=profile)
        return within_contexts(function, contexts, title, origin, pattern, tuple(expects), differs, needs, isolation)

    return decorate


def within_contexts(
    function: Story,
    contexts: str,
    title: str,
    origin: Iterable[str],
    pattern: str | None,
    expects: Iterable[Expect],
    differs: Iterable[Differs],
    needs: str,
    isolation: str,
) -> Scenario:
    """Make a scenario for each context, and return the first."""
    unknown = [context for context in contexts.split() if context not in CONTEXTS]
    if unknown:
        raise ValueError(
            f"{function.__name__} names the context {unknown[0]!r}, which is none of: {', '.join(CONTEXTS)}"
        )
    made = []
    for context in contexts.split():
        chosen = [expect for expect in expects if matches(expect.within, context)]
        needed = f"{needs} {CONTEXTS[context]}".strip()
        made.append(Scenario(function, title, origin, pattern, chosen, differs, needed, isolation, "", None, context))
    return made[0]
