"""One name for everything that a group of storages is held by."""

from __future__ import annotations

from gradlife.peaks.analysis.titles import common_title


def test_one_name_stays() -> None:
    assert common_title(["local x of f (a.py:3)", "local x of f (a.py:4)"]) == "local x of f (a.py:3)"
    assert common_title(["local x of f (a.py:3)", "local x of the generator f (a.py:4)"]) == "local x of f (a.py:3)"


def test_keys_and_numbers_that_differ_become_stars() -> None:
    keys = ["local out['a'][0] of f (a.py:3)", "local out['a'][1] of f (a.py:3)"]
    assert common_title(keys) == "local out['a'][*] of f (a.py:3)"
    layers = ["attribute .map of net.layers.0 (Block)", "attribute .map of net.layers.1 (Block)"]
    assert common_title(layers) == "attribute .map of net.layers.* (Block)"


def test_gradients_are_those_of_the_module_that_has_them_all() -> None:
    assert common_title([".grad of net.0.weight", ".grad of net.0.bias"]) == "gradients of net.0"
    assert common_title([".grad of net.0.weight", ".grad of net.2.bias"]) == "gradients of net"
    assert common_title([".grad of scale", ".grad of net.2.bias"]) == ".grad of scale and others"


def test_other_names_are_others() -> None:
    assert common_title(["local x of f (a.py:3)", "local y of f (a.py:3)"]) == "local x of f (a.py:3) and others"
