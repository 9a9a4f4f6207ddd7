"""Check torch: is it PyTorch, does it import, and does it have the names that gradlife uses?"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

from gradlife.doctor.installation import one_line, version_of
from gradlife.model.checkup import Health, Sign

SECTION = "PyTorch"
RENAME = "rename the torch.py, or the folder torch, where you work"
REINSTALL = "pip install --force-reinstall torch; without PyTorch, gradlife run --backend mini:torch-2.13 works"


def imported() -> Iterator[Sign]:
    """Import torch and describe it."""
    if sys.modules.get("torch", ...) is None:
        yield Sign(SECTION, "torch", "kept out of this Python: sys.modules['torch'] is None", Health.ABSENT)
        return
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name == "torch" and not version_of("torch"):
            yield Sign(SECTION, "torch", "not installed: the engine and its profiles work without it", Health.ABSENT)
        else:
            yield broken(error)
        return
    except BaseException as error:
        yield broken(error)
        return
    version = getattr(torch, "__version__", None)
    if version is None or not hasattr(torch, "_C") or not hasattr(torch, "autograd"):
        sys.modules.pop("torch", None)
        text = "what is imported as torch is not PyTorch: a file or a folder of that name comes first on the path"
        yield Sign(SECTION, "torch", text, Health.BROKEN, RENAME)
        return
    yield Sign(SECTION, "torch", described(torch, str(version)))


def broken(error: BaseException) -> Sign:
    """Return the sign of a torch that raises."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]  # drop half-imported modules
    remedy = RENAME if is_shadowed() else REINSTALL
    return Sign(SECTION, "torch", f"cannot be imported: {one_line(error)}", Health.BROKEN, remedy)


def is_shadowed() -> bool:
    """Whether the import would find a lone file, which is not PyTorch."""
    try:
        spec = importlib.util.find_spec("torch")
    except Exception:  # a broken finder, or a package without a location
        return False
    return spec is not None and spec.submodule_search_locations is None


def described(torch: Any, version: str) -> str:
    """Describe the version and its build."""
    build = getattr(torch, "version", None)
    cuda, hip = getattr(build, "cuda", None), getattr(build, "hip", None)
    parts = [version, f"CUDA {cuda}" if cuda else f"ROCm {hip}" if hip else "for the CPU"]
    commit = getattr(build, "git_version", None)
    return ", ".join([*parts, f"commit {str(commit)[:12]}"] if commit else parts)


def names() -> Iterator[Sign]:
    """Try the names of torch, public and private, that gradlife reads."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for name, (is_needed, lost, look) in NAMES.items():
        try:
            look(torch)
        except BaseException as error:
            health = Health.BROKEN if is_needed else Health.LESS
            remedy = "use a release of PyTorch from 2.4 on, or report this"
            yield Sign(SECTION, name, f"{one_line(error)}; without it: {lost}", health, remedy)
        else:
            yield Sign(SECTION, name, "is there")


def result_of(torch: Any) -> Any:
    """Make a product of leaves."""
    leaf = torch.ones(2, device="cpu", requires_grad=True)
    return leaf * leaf


def custom_result(torch: Any) -> Any:
    """Return the output of a custom Function that saved its input."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.kept = "kept"
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function: Any = type("Examined", (torch.autograd.Function,), body)
    return function.apply(torch.ones(2, device="cpu", requires_grad=True))


def saved_by_context(torch: Any) -> Any:
    """Read what a ctx saved, while the output keeps its node: older releases free it with the node."""
    result = custom_result(torch)
    return result.grad_fn.saved_tensors[0]


def hooked(torch: Any) -> Any:
    """Make a leaf with hooks of both kinds, and find them in its lists."""
    leaf = torch.ones(2, device="cpu", requires_grad=True)
    leaf.register_hook(id)
    leaf.register_post_accumulate_grad_hook(id)
    return [*leaf._backward_hooks, *leaf._post_accumulate_grad_hooks][1]


def packed(torch: Any) -> None:
    """Make a tensor that is packed when saved."""
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, pack):
        result_of(torch)
    seen[0].detach()


def step_hooks(torch: Any) -> None:
    """Add a hook of all optimizers and remove it."""
    importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(lambda *_: None).remove()


def quiet_modes(torch: Any) -> None:
    """Hide the objects that gradlife plants from the program's modes."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.inference_mode(False):
        result_of(torch)


Look = Callable[[Any], Any]

#: By name: whether gradlife relies on it, what is lost without it, and how it is tried.
NAMES: dict[str, tuple[bool, str, Look]] = {
    "grad_fn.next_functions": (
        False,
        "stories cannot follow a graph",
        lambda t: result_of(t).grad_fn.next_functions[0],
    ),
    "AccumulateGrad.variable": (
        False,
        "stories cannot go from a graph to its leaves",
        lambda t: result_of(t).grad_fn.next_functions[0][0].variable.shape,
    ),
    "grad_fn._raw_saved_*": (
        False,
        "saved tensors are shown without their names",
        lambda t: result_of(t).grad_fn._raw_saved_self,
    ),
    "ctx.saved_tensors": (False, "stories of custom Functions do not run", saved_by_context),
    "ctx.__dict__": (False, "attributes of a ctx are not shown", lambda t: custom_result(t).grad_fn.__dict__["kept"]),
    "lists of hooks": (False, "hooks of tensors are shown without their names", hooked),
    "saved_tensors_hooks": (True, "no hunt can plant its controls", packed),
    "Tensor._cdata": (True, "nothing behind a tensor can be found", lambda t: t.ones(2)._cdata + 0),
    "Tensor._use_count()": (False, "use counts are inconclusive", lambda t: t.ones(2)._use_count() + 0),
    "Tensor._base": (False, "bases of views are not shown", lambda t: t.ones(2).view(1, 2)._base.shape),
    "optimizer step hooks": (True, "a hunt cannot count the steps of a script", step_hooks),
    "modes that can be switched off": (True, "no hunt can plant its controls", quiet_modes),
}
