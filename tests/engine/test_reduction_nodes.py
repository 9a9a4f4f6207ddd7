"""What reductions, scans, bounds and added products leave behind: nodes, what they save, and the graphs of their gradients."""

from __future__ import annotations

import pytest

from op_stories import Story, assert_same

real = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")]

REDUCTIONS: dict[str, Story] = {
    "prod": lambda o: o.x.prod(),
    "prod along": lambda o: o.x.prod(-1),
    "prod along, kept": lambda o: o.x.prod(0, True),
    "max": lambda o: o.x.max(),
    "min": lambda o: o.x.min(),
    "max along": lambda o: o.x.max(-1),
    "min along, kept": lambda o: o.x.min(0, True),
    "indices alone": lambda o: o.x.max(1).indices,
    "amax": lambda o: o.x.amax(),
    "amin of some": lambda o: o.z.amin((0, -1)),
    "argmax": lambda o: o.x.argmax(1),
    "maximum": lambda o: o.fw.maximum(o.x, o.y),
    "minimum of a constant": lambda o: o.x.minimum(o.y.detach()),
    "var": lambda o: o.x.var(),
    "var, biased": lambda o: o.x.var(False),
    "var along": lambda o: o.x.var(1),
    "var of some": lambda o: o.z.var((0, 2), correction=2, keepdim=True),
    "std": lambda o: o.x.std(),
    "std along": lambda o: o.x.std(-1, True),
    "var_mean": lambda o: o.fw.var_mean(o.x, 1),
    "mean of var_mean": lambda o: o.fw.var_mean(o.x, 1)[1],
    "std_mean": lambda o: o.fw.std_mean(o.x),
    "softmax": lambda o: o.x.softmax(-1),
    "softmax as double": lambda o: o.x.float().softmax(0, dtype=o.fw.float64),
    "log_softmax": lambda o: o.x.log_softmax(0),
    "logsumexp": lambda o: o.z.logsumexp((0, -1), True),
    "nansum": lambda o: o.x.nansum(),
    "nansum along": lambda o: o.x.nansum(1, True),
    "nanmean": lambda o: o.x.nanmean(0),
}
RUNNING: dict[str, Story] = {
    "norm": lambda o: o.x.norm(),
    "norm of order 1": lambda o: o.x.norm(1),
    "norm of order 3": lambda o: o.x.norm(3, 1, True),
    "norm of order 1.5": lambda o: o.fw.norm(o.x, 1.5),
    "largest": lambda o: o.x.norm(float("inf"), 0),
    "frobenius": lambda o: o.x.norm("fro", (0, 1)),
    "norm by default": lambda o: o.x.norm(None),
    "vector norm": lambda o: o.fw.linalg.vector_norm(o.x, 3, 1),
    "norm of linalg": lambda o: o.fw.linalg.norm(o.x),
    "norm of linalg along": lambda o: o.fw.linalg.norm(o.x, 1, -1),
    "matrix norm": lambda o: o.fw.linalg.matrix_norm(o.z),
    "norm of linalg, of a matrix": lambda o: o.fw.linalg.norm(o.x, "fro"),
    "dist": lambda o: o.x.dist(o.y),
    "dist of order 3": lambda o: o.fw.dist(o.x, o.y, 3),
    "cumsum": lambda o: o.x.cumsum(-1),
    "cumprod": lambda o: o.x.cumprod(0),
    "logcumsumexp": lambda o: o.x.logcumsumexp(1),
    "cumsum in place": lambda o: o.changed(lambda x: x.cumsum_(1)),
    "cumprod in place": lambda o: o.changed(lambda x: x.cumprod_(1)),
    "diff": lambda o: o.x.diff(),
    "diff twice": lambda o: o.x.diff(2, 0),
    "diff of no order": lambda o: o.x.diff(0),
    "diff with more": lambda o: o.x.diff(prepend=o.y),
}
BOUNDS: dict[str, Story] = {
    "clamp": lambda o: o.x.clamp(0.6, 1.2),
    "at least": lambda o: o.x.clamp(min=1),
    "at most": lambda o: o.x.clip(max=1.5),
    "clamp_min": lambda o: o.x.clamp_min(1),
    "clamp_max": lambda o: o.x.clamp_max(1.5),
    "between tensors": lambda o: o.x.clamp(o.y, o.y + 0.5),
    "at least a tensor": lambda o: o.x.clamp(min=o.y),
    "at most a constant tensor": lambda o: o.x.clamp(max=o.y.detach()),
    "clamp_min of a tensor": lambda o: o.x.clamp_min(o.y),
    "clamp_max of a tensor": lambda o: o.x.clamp_max(o.y),
    "clamp in place": lambda o: o.changed(lambda x: x.clamp_(0.6, 1.2)),
    "clamp_min in place": lambda o: o.changed(lambda x: x.clamp_min_(1)),
    "clamp in place by tensors": lambda o: o.changed(lambda x: x.clamp_(o.y, o.y)),
    "clamp_max in place by a tensor": lambda o: o.changed(lambda x: x.clamp_max_(o.y)),
    "floor": lambda o: o.x.floor(),
    "ceil": lambda o: o.x.ceil(),
    "round": lambda o: o.x.round(),
    "round to 2": lambda o: o.x.round(decimals=2),
    "trunc": lambda o: o.x.trunc(),
    "frac": lambda o: o.x.frac(),
    "sign": lambda o: o.x.sign(),
    "floor in place": lambda o: o.changed(lambda x: x.floor_()),
    "isnan": lambda o: o.x.isnan(),
    "isclose": lambda o: o.fw.isclose(o.x, o.y),
}
PRODUCTS: dict[str, Story] = {
    "addmm": lambda o: o.fw.addmm(o.y.sum(), o.x, o.y.t(), beta=2, alpha=3),
    "addmm of constants": lambda o: o.fw.addmm(o.y[0, :3], o.x.detach(), o.y.detach().t()),
    "addmm of one constant": lambda o: o.fw.addmm(o.y[0, :3].detach(), o.x, o.y.detach().t()),
    "addmm of columns": lambda o: o.x.t().addmm(o.x.t(), o.y.t()[:3, :3]),
    "addmm in place": lambda o: o.changed(lambda x: x.addmm_(o.x[:, :3], o.y)),
    "addmv": lambda o: o.x[:, 0].addmv(o.x, o.y[0], alpha=2),
    "addr": lambda o: o.x.addr(o.y[:, 0], o.y[0], beta=2),
    "addr in place": lambda o: o.changed(lambda x: x.addr_(o.y[:, 0], o.y[0])),
    "baddbmm": lambda o: o.x[0, 0].baddbmm(o.z, o.z.transpose(1, 2), alpha=2),
    "addbmm": lambda o: o.fw.addbmm(o.x[:, :3], o.z, o.z.transpose(1, 2), beta=2),
    "outer": lambda o: o.fw.outer(o.x[0], o.y[:, 0]),
    "inner of vectors": lambda o: o.x[0].inner(o.y[0]),
    "inner": lambda o: o.fw.inner(o.z, o.x),
    "vdot": lambda o: o.fw.vdot(o.x[0], o.y[0]),
    "tensordot over two": lambda o: o.fw.tensordot(o.x, o.y),
    "tensordot over none": lambda o: o.fw.tensordot(o.x, o.y, 0),
    "tensordot over one": lambda o: o.fw.tensordot(o.x, o.y, ([0], [0])),
}


@pytest.mark.parametrize("stories", [REDUCTIONS, RUNNING, BOUNDS, PRODUCTS], ids=["reduce", "run", "bound", "multiply"])
def test_nodes_saved_fields_and_gradient_graphs_are_torchs(stories: dict[str, Story]) -> None:
    assert_same(real, stories)
