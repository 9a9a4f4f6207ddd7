"""Names that only some releases have: absent, to `hasattr` and `dir` and `import` too, under the profiles of the others."""

from __future__ import annotations

import dis
import sys
import warnings
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.releases import Span, _ModuleName, limited_module
from leftovers import run_script
from lifetimes import doubling, leaf


def names_of(owner: Any, part: str) -> list[str]:
    return [name for name in dir(owner) if part in name]


@pytest.mark.parametrize(
    ("owner", "name", "without", "having"),
    [
        (torch, "inference_mode", "torch-1.2", "torch-1.9"),
        (torch, "UntypedStorage", "torch-1.13", "torch-2.9"),
        (torch._C, "_autograd", "torch-1.2", "torch-1.9"),
        (torch.autograd, "graph", "torch-1.9", "torch-1.10"),
        (torch.autograd.graph, "saved_tensors_hooks", "torch-1.9", "torch-1.10"),
        (torch.autograd.graph, "disable_saved_tensors_hooks", "torch-1.10", "torch-1.13"),
        (torch.autograd.graph, "get_gradient_edge", "torch-1.13", "torch-2.9"),
        (torch.Tensor, "untyped_storage", "torch-1.13", "torch-2.9"),
        (torch.Tensor, "as_subclass", "torch-1.2", "torch-1.9"),
        (torch.Tensor, "_typed_storage", "torch-1.13", "torch-2.9"),
        (torch.utils.weak, "WeakTensorKeyDictionary", "torch-1.13", "torch-2.9"),
        (torch.autograd.Function, "setup_context", "torch-1.13", "torch-2.9"),
        (torch.Tensor, "mT", "torch-1.10", "torch-1.13"),
        (torch.Tensor, "register_post_accumulate_grad_hook", "torch-1.13", "torch-2.9"),
    ],
)
def test_a_name_comes_with_its_release(owner: Any, name: str, without: str, having: str) -> None:
    with torch.profile(without):
        assert not hasattr(owner, name)
    with torch.profile(having):
        assert hasattr(owner, name)


def test_no_saved_tensor_hooks_can_be_imported_before_1_10() -> None:
    with torch.profile("torch-1.9"), pytest.raises(ImportError, match="cannot import name 'saved_tensors_hooks'"):
        from gradlife.engine.autograd.graph import saved_tensors_hooks  # noqa: F401


def test_an_absent_method_is_an_attribute_error_in_pythons_words() -> None:
    x = leaf()
    with torch.profile("torch-1.1"):
        with pytest.raises(AttributeError) as error:
            x.register_post_accumulate_grad_hook(print)
        assert str(error.value) == "'Tensor' object has no attribute 'register_post_accumulate_grad_hook'"
        with pytest.raises(AttributeError, match="type object 'Tensor' has no attribute 'untyped_storage'"):
            torch.Tensor.untyped_storage  # noqa: B018


def test_dir_shows_what_a_release_has() -> None:
    x = leaf()
    assert "untyped_storage" in dir(x)
    with torch.profile("torch-1.13"):
        assert "untyped_storage" not in dir(x)
        assert "disable_saved_tensors_hooks" in dir(torch.autograd.graph)
    with torch.profile("torch-1.10"):
        assert "disable_saved_tensors_hooks" not in dir(torch.autograd.graph)


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("torch-1.9", []),
        ("torch-1.10", ["_register_saved_tensors_default_hooks", "_reset_saved_tensors_default_hooks"]),
        (
            "torch-1.13",
            [
                "_pop_saved_tensors_default_hooks",
                "_push_saved_tensors_default_hooks",
                "_saved_tensors_hooks_disable",
                "_saved_tensors_hooks_enable",
                "_saved_tensors_hooks_get_disabled_error_message",
                "_saved_tensors_hooks_is_enabled",
            ],
        ),
    ],
)
def test_private_functions_of_saved_tensor_hooks_by_release(profile: str, names: list[str]) -> None:
    with torch.profile(profile):
        assert names_of(torch._C._autograd, "saved_tensors") == names


@pytest.mark.parametrize(
    ("profile", "saved", "raw"),
    [
        ("torch-1.2", [], []),
        ("torch-1.8", [], []),
        ("torch-1.9", ["_saved_self"], []),
        ("torch-1.10", ["_saved_self"], ["_raw_saved_self"]),
    ],
)
def test_nodes_show_what_they_saved_since_1_9_and_the_slots_since_1_10(
    profile: str, saved: list[str], raw: list[str]
) -> None:
    with torch.profile(profile):
        node = leaf().sin().grad_fn
        assert (names_of(node, "_saved_self")[-1:], names_of(node, "_raw_saved")) == ([*raw, *saved][-1:], raw)
        assert names_of(node, "_saved")[len(raw) :] == saved


def test_a_limited_name_can_be_set_and_deleted_like_any_other() -> None:
    module: Any = limited_module("m", {"now": 1}, {"now": Span(), "gone": Span(0, 101)})
    assert (module.now, dir(module).count("now")) == (1, 1)
    module.now = 2
    assert module.now == 2
    del module.now
    with pytest.raises(AttributeError, match="module 'm' has no attribute 'now'"):
        module.now  # noqa: B018
    assert not hasattr(module, "gone")


def test_a_class_attribute_that_can_be_set_refuses_it_where_it_is_absent() -> None:
    x = leaf()
    x._post_accumulate_grad_hooks = None
    with torch.profile("torch-1.1"), pytest.raises(AttributeError, match="no attribute '_post_accumulate_grad_hooks'"):
        x._post_accumulate_grad_hooks = None


def test_a_function_with_setup_context_is_called_with_a_context_before_2_0() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    with torch.profile("torch-1.13"), pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        Double.apply(leaf())


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        ("torch-1.1", "torch.FloatStorage"),
        ("torch-1.10", "torch.FloatStorage"),
        ("torch-1.13", "torch.storage.TypedStorage"),
    ],
)
def test_storage_is_a_new_object_each_time_and_of_the_releases_class(profile: str, kind: str) -> None:
    with torch.profile(profile), warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(3)
        storage: Any = x.storage()
        assert x.storage() is not storage
        assert storage.tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(AttributeError) as error:
            storage.tag  # noqa: B018
        assert str(error.value) == f"'{kind}' object has no attribute 'tag'"
        assert f"[{kind}(dtype=torch.float32, device=cpu) of size 3]" in repr(storage)


def test_words_for_freed_saved_tensors_by_release() -> None:
    for profile, word in (
        ("torch-1.2", "the buffers"),
        ("torch-1.8", "the saved intermediate results"),
        ("torch-1.9", "saved variables"),
        ("torch-1.10", "saved tensors"),
    ):
        with torch.profile(profile):
            y = leaf().sin().sum()
            y.backward()
            with pytest.raises(RuntimeError, match=f"{word}.* have already been|{word} after they have already been"):
                y.backward()


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ("torch-1.10", "_register_saved_tensors_default_hooks(): incompatible function arguments."),
        ("torch-1.13", "_push_saved_tensors_default_hooks(): incompatible function arguments."),
    ],
)
def test_hooks_that_cannot_be_called_are_refused_in_the_releases_words(profile: str, text: str) -> None:
    number: Any = 1
    with torch.profile(profile), pytest.raises(TypeError) as error:
        torch.autograd.graph.saved_tensors_hooks(number, number).__enter__()
    assert str(error.value).startswith(text)
    assert str(error.value).endswith("1. (arg0: function, arg1: function) -> None")


CANNOT_IMPORT = "cannot import name 'weak' from 'gradlife.engine.utils'"
IMPORT_OF_WEAK_KEYS = """
import gradlife.engine as torch
print("weak" in dir(torch.utils), hasattr(torch.utils, "weak"))
try:
    from gradlife.engine.utils import weak
except ImportError as error:
    print(str(error).split(" (")[0])
try:
    import gradlife.engine.utils.weak
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("torch-1.13", ["False False", CANNOT_IMPORT, "No module named 'torch.utils.weak'"]),
        ("oneflow-0.9", ["False False", CANNOT_IMPORT, "No module named 'torch'"]),
        ("torch-2.9", ["True True"]),
    ],
)
def test_a_module_that_a_release_lacks_cannot_be_imported(profile: str, said: list[str]) -> None:
    done = run_script(IMPORT_OF_WEAK_KEYS, GRADLIFE_PROFILE=profile)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == said


@pytest.mark.parametrize(
    ("profile", "register", "after"),
    [
        (
            "torch-1.2",
            "Legacy autograd function had _register_hook called",
            "Legacy autograd function had next_functions",
        ),
        (
            "torch-1.8",
            "Legacy autograd function had _register_hook called",
            "Legacy autograd function had next_functions",
        ),
        ("torch-1.9", "Attribute 'register_hook' is invalid", "Attribute 'next_functions' is invalid"),
    ],
)
def test_a_context_without_a_node_answers_in_the_releases_words(profile: str, register: str, after: str) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        node = y.grad_fn
        del y
        with pytest.raises(RuntimeError, match=register):
            node.register_hook(print)
        with pytest.raises(RuntimeError, match=after):
            node.next_functions  # noqa: B018
        assert hasattr(node, "_do_backward") is (profile != "torch-1.9")


def test_a_call_site_that_is_warm_does_not_see_an_absent_name() -> None:
    """From Python 3.14 on a warm call site reads names in a module's dict there, past the descriptor of its class."""

    def has_hooks() -> bool:
        try:
            torch.autograd.graph.saved_tensors_hooks  # noqa: B018
        except AttributeError:
            return False
        return True

    assert all(has_hooks() for _ in range(100))
    with torch.profile("torch-1.9"):
        assert not any(has_hooks() for _ in range(100))
    assert all(has_hooks() for _ in range(100))


def test_functions_of_a_module_use_no_name_of_it_that_depends_on_the_profile() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("gradlife.engine")]
    limited = {
        module: vars(type(module)) for module in modules if type(module).__name__ == "module" and module.__file__
    }
    assert len(limited) > 8
    for module, names in limited.items():
        codes = [compile(Path(module.__file__ or "").read_text(), "", "exec")]
        for code in codes:
            codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        used = {i.argval for code in codes[1:] for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        assert {name for name in used & set(names) if isinstance(names[name], _ModuleName)} == set()
