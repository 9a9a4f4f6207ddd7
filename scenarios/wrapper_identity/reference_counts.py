"""What `sys.getrefcount` shows of a tensor's C++ owners."""

from gradlife.scenario import Expect, scenario

COUPLED = "torch>=2.10"
SILENT = "C++ owners count on the impl; Python's count knows only Python's references"
ONE_MORE = "the impl owns its wrapper while it has another owner than the wrapper, so Python counts one more, never two"


def expected(subject):
    """Zero beyond a control object where C++ owners are silent, one where the counts are coupled."""
    return [
        Expect(subject, 1, probe="refcount", on=COUPLED, because=ONE_MORE),
        Expect(subject, 0, probe="refcount", on="torch-* oneflow-*", because=SILENT),
    ]


@scenario(
    title="reference counts under owners in C++",
    origin=["pytorch/pytorch#167564", "pytorch/pytorch#166342"],
    expects=[
        Expect("fresh", 0, probe="refcount", because="one name, no other owner"),
        *expected("leaf saved twice"),
        *expected("hidden saved twice"),
        *expected("gradient"),
        *expected("base of a view"),
        Expect("C++ node", 1, probe="refcount", on="torch>=2.13", because="nodes are coupled like tensors, since 2.13"),
        Expect(
            "C++ node", 0, probe="refcount", on="torch-* oneflow-*", because="the wrapper owns the node, not vice versa"
        ),
        Expect("storage", 1, probe="refcount", on=COUPLED, because="storages are coupled like tensors"),
        Expect(
            "owners of the leaf",
            5,
            probe="value",
            on="torch-2.*",
            because="name's wrapper, two slots, accumulator, view",
        ),
        Expect("owners of a fresh tensor", 1, probe="value", on="torch-2.*", because="its wrapper"),
    ],
)
def reference_counts_of_tensors(lab):
    """Can `sys.getrefcount` see that C++ holds a tensor?

    Up to torch 2.9: no. A named tensor shows its names, whether no node saved it or ten did. A leak detector that
    compares reference counts with known referrers finds no discrepancy and reports a leaked tensor as properly held
    by nobody.

    From 2.10 on: yes, but as one bit. While anybody besides the wrapper owns the impl, the impl owns the wrapper:
    exactly one more reference, which belongs to no Python object that gc could name. `t._use_count()` gives the
    number of owners in C++: here the wrapper, two saved slots of the product, the accumulator's hold on its leaf,
    and the view.
    """
    fw = lab.fw
    fresh = lab.tensor()
    lab.refcount("fresh", fresh)
    x = lab.tensor(requires_grad=True)
    hidden = x * x
    lab.refcount("leaf saved twice", x)
    out = hidden * hidden
    lab.refcount("hidden saved twice", hidden)
    leaf = fw.ones(3, requires_grad=True)
    (leaf * 2).sum().backward()
    grad = leaf.grad
    lab.refcount("gradient", grad)
    base = lab.tensor()
    view = base[0:1]
    lab.refcount("base of a view", base)
    part = x[0:1]
    node = out.grad_fn
    lab.refcount("C++ node", node)
    if hasattr(x, "untyped_storage"):
        storage = x.untyped_storage()
        lab.refcount("storage", storage)
    if hasattr(x, "_use_count"):
        lab.value("owners of the leaf", x._use_count())
        lab.value("owners of a fresh tensor", fresh._use_count())
    lab.stage("counted")
    del view, part
