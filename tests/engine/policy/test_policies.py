"""Profiles and the single policies they are made of: chosen by name, per thread and region, tagged on what is born inside."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.errors import UnknownNameError, UsageError
from leftovers import leaves, run_in_child, run_script
from lifetimes import doubling, in_threads, keep_output, leaf, save_output, verdict

NAMES = [
    "torch-1.1",
    "torch-1.2",
    "torch-1.8",
    "torch-1.9",
    "torch-1.10",
    "torch-1.13",
    "torch-2.9",
    "torch-2.10",
    "torch-2.13",
    "torch-2.14",
    "oneflow-0.8",
    "oneflow-0.9",
    "micrograd",
    "broken-function-ownership",
    "rejected-refcount-check",
    "rejected-consumed",
    "broken-tensor-identity",
    "broken-storage-identity",
    "broken-node-identity",
    "broken-saved-slot",
    "broken-hook-borrowed",
    "broken-hook-extra",
    "broken-interpreter-exit",
    "broken-unpack-upfront",
]
AXES = {
    "function_ownership": ("ctx_owns_node", "node_owns_ctx", "coupled", "weak_at_construction", "refcount_check"),
    "legacy_functions": ("instance_is_ctx", "refused", "consumed"),
    "tensor_identity": ("rewrap", "cached", "resurrect", "coupled", "mutual"),
    "storage_identity": ("rewrap", "cached", "resurrect", "coupled", "mutual"),
    "node_identity": ("rewrap", "cached", "resurrect", "coupled", "mutual"),
    "saved_slot": ("detached_data", "owning", "closure"),
    "hook_references": ("owned", "borrowed", "extra"),
    "interpreter_exit": ("leak", "release"),
    "unpack_schedule": ("progressive", "upfront"),
}
DEFAULT = "torch-2.13"


def current() -> str:
    return str(torch.current_profile())


# --- what there is ---


def test_profiles_are_the_releases_and_then_the_broken_ones() -> None:
    assert list(torch.profiles()) == NAMES


def test_axes_and_their_values() -> None:
    assert dict(torch.AXES) == AXES


def test_every_profile_has_one_known_value_on_each_axis() -> None:
    for profile in torch.profiles().values():
        assert set(profile.axes) == set(AXES)
        assert all(profile.axes[axis] in values for axis, values in AXES.items())


@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("torch-1.2", {"function_ownership"}),
        ("torch-1.8", {"legacy_functions"}),
        ("torch-1.9", {"interpreter_exit"}),
        ("torch-1.10", {"tensor_identity"}),
        ("torch-1.13", set()),
        ("torch-2.9", {"storage_identity"}),
        ("torch-2.10", {"tensor_identity", "storage_identity"}),
        ("torch-2.13", {"function_ownership", "node_identity"}),
        ("torch-2.14", set()),
    ],
)
def test_a_release_differs_from_the_one_before_on_these_axes(name: str, differing: set[str]) -> None:
    profiles = torch.profiles()
    before = profiles[NAMES[NAMES.index(name) - 1]]
    assert {axis for axis in AXES if profiles[name].axes[axis] != before.axes[axis]} == differing


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("broken-")])
def test_a_broken_profile_is_2_13_but_for_one_axis(name: str) -> None:
    profiles = torch.profiles()
    assert len([axis for axis in AXES if profiles[name].axes[axis] != profiles[DEFAULT].axes[axis]]) == 1


def test_a_profile_names_its_axes_as_attributes() -> None:
    profile = torch.profiles()["torch-1.1"]
    assert profile.function_ownership == "ctx_owns_node"
    assert profile.tensor_identity == "cached"
    with pytest.raises(AttributeError, match="a profile has no axis 'colour'"):
        profile.colour  # noqa: B018


def test_profiles_handed_out_are_a_copy() -> None:
    torch.profiles().clear()
    assert list(torch.profiles()) == NAMES


# --- specs ---


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("torch-1.1", "torch-1.1"),
        ("torch-2.13+saved_slot=owning", "torch-2.13+saved_slot=owning"),
        ("torch-2.13+saved_slot=detached_data", "torch-2.13"),
        (
            "torch-2.13+tensor_identity=cached,node_identity=rewrap",
            "torch-2.13+node_identity=rewrap,tensor_identity=cached",
        ),
        ("torch-2.13+ saved_slot = owning ,", "torch-2.13+saved_slot=owning"),
        ("torch-2.13+saved_slot=owning,saved_slot=detached_data", "torch-2.13"),
        ("torch-2.13+", "torch-2.13"),
    ],
)
def test_spec_and_how_it_is_written_back(spec: str, canonical: str) -> None:
    with torch.profile(spec) as chosen:
        assert str(chosen) == canonical
        assert current() == canonical


def test_axes_given_by_keyword_replace_those_of_the_spec() -> None:
    with torch.profile("torch-1.2+saved_slot=owning", saved_slot="detached_data", tensor_identity="rewrap"):
        assert current() == "torch-1.2+tensor_identity=rewrap"


def test_profile_may_be_given_as_the_object_itself() -> None:
    with torch.profile("torch-1.10", unpack_schedule="upfront") as first:
        pass
    with torch.profile(first):
        assert torch.current_profile() == first


@pytest.mark.parametrize(
    ("spec", "axes", "text"),
    [
        ("torch-2.12", {}, "unknown profile 'torch-2.12' (try: torch-2.14 or torch-2.13 or torch-2.10"),
        ("zzz", {}, "unknown profile 'zzz'"),
        ("torch-2.13+saved_slots=owning", {}, "unknown policy axis 'saved_slots' (try: saved_slot)"),
        ("torch-2.13+saved_slot=owner", {}, "unknown value of saved_slot 'owner' (try: owning)"),
        (
            "torch-2.13+saved_slot=xyz",
            {},
            "unknown value of saved_slot 'xyz' (try: detached_data or owning or closure)",
        ),
        ("torch-2.13", {"saved_slots": "owning"}, "unknown policy axis 'saved_slots' (try: saved_slot)"),
        ("torch-2.13", {"tensor_identity": "copied"}, "unknown value of tensor_identity 'copied' (try: coupled"),
        ("", {}, "unknown profile ''"),
    ],
)
def test_unknown_name_is_reported_with_the_nearest_ones(spec: str, axes: dict[str, str], text: str) -> None:
    with pytest.raises(UnknownNameError) as error, torch.profile(spec, **axes):
        pass
    assert str(error.value).startswith(text)
    assert current() == DEFAULT


def test_change_without_a_value_is_reported_with_the_form_of_a_spec() -> None:
    with pytest.raises(UsageError) as error, torch.profile("torch-2.13+owning"):
        pass
    assert str(error.value) == "'owning' is no change of a policy (try: PROFILE+axis=value[,axis=value])"


# --- regions and threads ---


def test_regions_nest_and_give_back_what_was_there() -> None:
    with torch.profile("torch-1.1"):
        with torch.profile("oneflow-0.8"):
            assert current() == "oneflow-0.8"
        assert current() == "torch-1.1"
    assert current() == DEFAULT


def test_region_left_by_an_exception_gives_back_what_was_there() -> None:
    with pytest.raises(ValueError, match="boom"), torch.profile("torch-1.1"):
        raise ValueError("boom")
    assert current() == DEFAULT


def test_region_may_be_entered_again_and_again() -> None:
    for _ in range(2_000):
        with torch.profile("torch-1.1+node_identity=rewrap"):
            pass
    assert current() == DEFAULT


def test_thread_starts_with_the_default_whatever_its_maker_runs_under() -> None:
    with torch.profile("torch-1.1"):
        assert in_threads(current, current) == [DEFAULT, DEFAULT]


def set_default_and_look() -> list[str]:
    seen = [str(torch.set_default_profile("torch-1.2", saved_slot="owning")), current()]
    with torch.profile("torch-1.1"):
        torch.set_default_profile("oneflow-0.9")
        seen.append(current())
    return [*seen, current(), *in_threads(current)]


def test_default_is_what_a_thread_without_a_region_follows() -> None:
    spec = "torch-1.2+saved_slot=owning"
    assert run_in_child(set_default_and_look) == [spec, spec, "torch-1.1", "oneflow-0.9", "oneflow-0.9"]


def test_unknown_default_is_refused_and_changes_nothing() -> None:
    with pytest.raises(UnknownNameError):
        torch.set_default_profile("torch-0.4")
    assert current() == DEFAULT


PRINT_PROFILE = "import gradlife.engine as torch; print(torch.current_profile())"


@pytest.mark.parametrize("spec", ["torch-1.1", "torch-1.10+saved_slot=owning"])
def test_environment_variable_sets_the_default(spec: str) -> None:
    done = run_script(PRINT_PROFILE, GRADLIFE_PROFILE=spec)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{spec}\n", "")


def test_unknown_profile_in_the_environment_fails_the_import_with_the_variable_and_the_nearest_names() -> None:
    done = run_script(PRINT_PROFILE, GRADLIFE_PROFILE="torch-2.1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "gradlife.errors.UsageError: GRADLIFE_PROFILE: unknown profile 'torch-2.1'"
        " (try: torch-2.14 or torch-2.13 or torch-2.10)"
    )


def test_unknown_profile_in_the_environment_is_one_line_of_a_command() -> None:
    command = [sys.executable, "-m", "gradlife", "run"]
    env = {**os.environ, "GRADLIFE_PROFILE": "nope"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gradlife: error: GRADLIFE_PROFILE: unknown profile 'nope' (try: unset GRADLIFE_PROFILE)\n"


def test_without_the_environment_variable_the_default_is_2_13() -> None:
    env = {name: value for name, value in os.environ.items() if name != "GRADLIFE_PROFILE"}
    done = subprocess.run([sys.executable, "-c", PRINT_PROFILE], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{DEFAULT}\n"


# --- policies are tagged at birth: objects of two of them meet in one graph ---


def made_under(profile: str, make: Callable[[], Any]) -> Any:
    with torch.profile(profile):
        return make()


def test_tensor_keeps_the_identity_it_was_born_with() -> None:
    old = made_under("torch-1.1", lambda: torch.ones(2))
    new = torch.ones(2)
    holder = made_under("torch-1.1", lambda: leaf())
    holder.grad, other = new, leaf()
    other.grad = old
    old.note = new.note = 1
    del old, new
    assert getattr(holder.grad, "note", None) == 1
    assert getattr(other.grad, "note", None) is None


def test_gradient_flows_through_nodes_of_every_profile() -> None:
    x = leaf()
    y = x
    for name in NAMES[:6]:
        with torch.profile(name):
            y = doubling(save_output).apply(y) * 1
    y.sum().backward()
    assert x.grad.tolist() == [64.0, 64.0]
    del y


@leaves(tensor=2, storage=2, node=2, context=1)
def test_function_of_1_2_stays_invisible_to_the_collector_in_a_region_of_2_13() -> None:
    assert (
        verdict(lambda: with_context(made_under("torch-1.2", lambda: doubling(keep_output).apply(leaf())))) == "never"
    )


def test_function_of_2_13_is_seen_by_the_collector_in_a_region_of_1_1() -> None:
    y = [doubling(keep_output).apply(leaf())]
    with torch.profile("torch-1.1"):
        assert verdict(lambda: with_context(y.pop())) == "gc"


def with_context(y: Any) -> tuple[object, Any]:
    return y, weakref.ref(y.grad_fn)


def test_edge_follows_the_policy_of_the_node_it_points_to() -> None:
    x = leaf()
    y = made_under("torch-1.1", lambda: doubling(save_output).apply(x))
    used = y.grad_fn.saved_tensors[0] * 2
    assert torch.live_counts()["block"] == 2
    del used
    # the node that used it was born under 2.13, the node that is stripped under 1.1
    assert [after for after, _ in y.grad_fn.next_functions] == [None]
