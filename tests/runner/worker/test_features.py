from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gradlife.runner.worker.features import missing_feature, reach


def framework(**names: Any) -> Any:
    return SimpleNamespace(**names)


def test_nothing_is_missing_where_nothing_is_needed() -> None:
    assert missing_feature(framework(), "") is None


def test_a_missing_feature_is_named_with_what_it_is() -> None:
    assert missing_feature(framework(), "hooks") == "needs hooks: Pack and unpack hooks"
    graph = SimpleNamespace(saved_tensors_hooks=object)
    assert missing_feature(framework(autograd=SimpleNamespace(graph=graph)), "hooks") is None


def test_a_dotted_need_is_looked_up_under_the_framework() -> None:
    fw = framework(autograd=SimpleNamespace(grad=len))
    assert missing_feature(fw, "autograd.grad") is None
    assert missing_feature(fw, "autograd.grad autograd.forward_ad") == "needs autograd.forward_ad"


def test_a_submodule_is_imported_on_the_path() -> None:
    import concurrent

    assert reach(concurrent, "futures.ThreadPoolExecutor")
    assert not reach(concurrent, "futures.NoSuchThing")
    assert not reach(concurrent, "no_such_module")


def test_an_unknown_word_is_an_error_of_the_scenario() -> None:
    with pytest.raises(
        ValueError,
        match=r"^unknown word 'hoks' in needs; known: "
        r"added_param_groups, checkpoint_by_hooks, compile, ctx_attributes, cxx_metadata, engine, hooks, legacy, "
        r"module_hook_handles, node_hooks, none_gradients, numpy, param_group_items, tensor_attributes, tensor_weakrefs$",
    ):
        missing_feature(framework(), "hoks")


def test_a_framework_that_refuses_legacy_functions_lacks_them() -> None:
    class Refusing:
        def __call__(self, x: object) -> object:
            raise RuntimeError("Legacy autograd function")

    fw = framework(autograd=SimpleNamespace(Function=Refusing), ones=lambda n: n)
    assert missing_feature(fw, "legacy") == "needs legacy: Instances of a Function with instance methods may be called"


def test_a_framework_that_calls_legacy_functions_has_them() -> None:
    class Calling:
        def __call__(self, x: Any) -> Any:
            return self.forward(x)  # type: ignore[attr-defined]

    assert missing_feature(framework(autograd=SimpleNamespace(Function=Calling), ones=lambda n: n), "legacy") is None


def test_the_engine_is_known_by_its_live_counts_and_owners() -> None:
    assert missing_feature(ModuleType("torch"), "engine") is not None
    assert missing_feature(framework(live_counts=dict, owners=str), "engine") is None
