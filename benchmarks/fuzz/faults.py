"""Mistakes seeded in the C++ core: each is a small edit of one source file, compiled beside the existing build.

The shipped engine contains none of them: an edited copy replaces one object file when another extension is linked from
the build folder's objects.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """A mistake in a source file under csrc/, as pairs of a unique text and its replacement."""

    name: str
    what: str
    source: str
    edits: tuple[tuple[str, str], ...]

    def edited(self, text: str) -> str:
        for old, new in self.edits:
            if text.count(old) != 1:
                raise SystemExit(f"{self.name}: {self.source} does not have {old!r} once; the fault wants renewing")
            text = text.replace(old, new)
        return text


FAULTS = (
    Fault(
        "missing decref",
        "a reference to each gradient that a tensor's hook is given is never given back",
        "engine_py/hooks/hooks.cpp",
        (("Tensor call(Tensor gradient) override {\n    Ref value = wrap(std::move(gradient));",
          "Tensor call(Tensor gradient) override {\n    Ref value = wrap(std::move(gradient));\n    Py_INCREF(value.get());"),),
    ),
    Fault(
        "hook order",
        "a node's prehooks run before the hooks of its tensors",
        "engine/backward/backward.cpp",
        (("  inputs = call_tensor_hooks(node, std::move(inputs));\n  for", "  for"),
         ("  TensorList kept;\n", "  inputs = call_tensor_hooks(node, std::move(inputs));\n  TensorList kept;\n")),
    ),
    Fault(
        "skipped version check",
        "what was changed in place since it was saved is used as it is",
        "engine/graph/saved_slot.cpp",
        (("if (now == saved_version_ ||", "if (now == saved_version_ || now < 1000000 ||"),),
    ),
    Fault(
        "owning instead of weak",
        "a saved output that was changed in place on a view owns its node",
        "engine/graph/saved_slot.cpp",
        (("if (is_inplace_on_view_) weak_grad_fn_ = WeakNodePtr(grad_fn(tensor));",
          "if (is_inplace_on_view_) weak_grad_fn_ = WeakNodePtr(grad_fn_ = grad_fn(tensor));"),),
    ),
    Fault(
        "weak references left",
        "a tensor that dies leaves the weak references to it as they are",
        "engine_py/types/tensor_type.cpp",
        (("  if (tensor_object(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);\n", ""),),
    ),
    Fault(
        "shared storage not counted",
        "gradients are summed into memory that another tensor has, too",
        "engine/backward/backward.cpp",
        (("tensor->storage()->use_count() == 1 &&", "tensor->storage()->use_count() != 0 &&"),),
    ),
    Fault(
        "buffers kept",
        "a node with hooks of its own keeps what it saved after backward",
        "engine/backward/backward.cpp",
        (("  if (!options_.keep_graph && ", "  if (!options_.keep_graph && node.post_hooks.empty() && "),),
    ),
    Fault(
        "stolen gradient",
        "a leaf's first gradient is taken for its own, whoever else has it",
        "engine/graph/autograd.cpp",
        (("gradient->has_at_most(expected_owners +", "gradient->has_at_most(1000 + expected_owners +"),),
    ),
    Fault(
        "version of its own",
        "a view does not count the changes of its base",
        "engine/backward/views.cpp",
        (("  view->share_version(source->version_counter());\n", ""),),
    ),
)  # fmt: skip


def build_folder() -> Path:
    """Return the folder of `make build`. Raises if it does not exist."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-"
    for commands in sorted((ROOT / "build").glob(f"{tag}*/compile_commands.json")):
        return commands.parent
    raise SystemExit("there is no build to seed faults in: run `make build` first")


def built(fault: Fault) -> Path:
    """Build the engine's extension with the fault. Raises if the source has changed or the compiler refuses it."""
    build = build_folder()
    folder = ROOT / "build" / "faults" / fault.name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    source = ROOT / "csrc" / fault.source
    copy, made = folder / source.name, folder / (source.name + ".o")
    copy.write_text(fault.edited(source.read_text(encoding="utf-8")), encoding="utf-8")
    original = compile_edited(build, source, copy, made)
    extension = folder / ("_engine" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    link = commands_of(build)[-1].replace(f" {original} ", f" {shlex.quote(str(made))} ")
    link = link.replace(f"-o {extension.name} ", f"-o {shlex.quote(str(extension))} ")
    subprocess.run(link, shell=True, cwd=build, check=True)
    return extension


def compile_edited(build: Path, source: Path, copy: Path, made: Path) -> str:
    """Compile the edited copy like the original. Return the object file that it replaces."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    words = next(shlex.split(entry["command"]) for entry in entries if Path(entry["file"]) == source)
    original = words[words.index("-o") + 1]
    replaced = {str(source): str(copy), original: str(made)}
    subprocess.run([replaced.get(word, word) for word in words], cwd=build, check=True)
    return original


def commands_of(build: Path) -> list[str]:
    """Return the build commands of the engine's extension, the link last."""
    ninja = shutil.which("ninja", path=str(Path(sys.executable).parent)) or shutil.which("ninja") or "ninja"
    asked = subprocess.run([ninja, "-t", "commands", "_engine"], cwd=build, check=True, capture_output=True, text=True)
    return asked.stdout.splitlines()
