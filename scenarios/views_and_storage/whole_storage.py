"""Small tensors that keep large storages: slices of a batch, views saved by a graph, tensors on borrowed memory."""

from gradlife.scenario import Expect, scenario

ROWS, COLUMNS = 64, 16
WHOLE = ROWS * COLUMNS * 4  # bytes of the batch


def batch_of(lab):
    """A batch of 64 rows of 16 numbers."""
    return lab.fw.ones(ROWS, COLUMNS)


@scenario(
    title="one row of a batch keeps the batch",
    origin=["pytorch/pytorch#40157", "pytorch/pytorch#1995", "pytorch/pytorch#33101"],
    pattern="GL701",
    expects=[
        Expect("batch.storage", "held", on="torch-2.*", because="the row is a view: it owns the whole storage"),
        Expect("bytes kept by one row", WHOLE, probe="value", on="torch-2.*", because="storages are owned whole"),
        Expect("bytes of one row", COLUMNS * 4, probe="value"),
    ],
)
def row_keeps_the_batch(lab):
    """`hard_examples.append(batch[0])`: one row of 64 bytes keeps 4096.

    Indexing with an integer or a slice copies nothing: the row is a tensor on the batch's storage with an offset. A
    storage cannot be owned in part, so as long as one row lives, the batch's memory does. Collecting one example a
    batch keeps every batch of the epoch. (The same reason makes `torch.save(batch[0])` write the whole batch.) The
    fix: `batch[0].clone()`.
    """
    batch = batch_of(lab)
    row = batch[0]
    lab.hold(row)
    lab.value("bytes of one row", row.numel() * 4)
    lab.watch("batch", batch)
    lab.stage("row taken")
    del batch, row
    lab.value("bytes kept by one row", lab.bytes_alive("batch"))
    lab.stage("batch dropped", all_names_gone=True)


@row_keeps_the_batch.fixed(
    title="a clone of one row keeps the row",
    fix="keep batch[0].clone()",
    expects=[
        Expect("batch.storage", "del", on="torch-2.*", because="the clone has a storage of its own, of one row"),
        Expect("bytes kept by one row", 0, probe="value", on="torch-2.*"),
        Expect("batch", "del"),
    ],
)
def cloned_row_keeps_itself(lab):
    """A clone is laid out anew: 64 bytes for 16 numbers, and the batch is free to go."""
    batch = batch_of(lab)
    row = batch[0].clone()
    lab.hold(row)
    lab.watch("batch", batch)
    lab.stage("row taken")
    del batch, row
    lab.value("bytes kept by one row", lab.bytes_alive("batch"))
    lab.stage("batch dropped", all_names_gone=True)


@row_keeps_the_batch.fixed(
    title="a row picked by an index tensor keeps the row",
    fix="keep batch[torch.tensor([0])], which copies",
    expects=[
        Expect("batch.storage", "del", on="torch-2.*", because="an index tensor, or a mask, selects into new memory"),
        Expect("bytes kept by one row", 0, probe="value", on="torch-2.*"),
        Expect("bytes of one row", COLUMNS * 4, probe="value", on="torch-*"),
        Expect("batch", "del", on="torch-*"),
    ],
)
def indexed_row_keeps_itself(lab):
    """The same row asked for by an index tensor. Which elements it names is known only at run time, so they can't be
    described by strides: the result is a copy, though the expression looks like the one that made a view."""
    batch = batch_of(lab)
    row = batch[lab.fw.tensor([0])]
    lab.hold(row)
    lab.value("bytes of one row", row.numel() * 4)
    lab.watch("batch", batch)
    lab.stage("row taken")
    del batch, row
    lab.value("bytes kept by one row", lab.bytes_alive("batch"))
    lab.stage("batch dropped", all_names_gone=True)


@scenario(
    title="a graph that saved a slice keeps the batch",
    origin=["pytorch/pytorch#40157"],
    pattern="GL701",
    expects=[
        Expect("batch.storage", "alive", probe="expiry", stage="names dropped, loss alive", on="torch-2.*"),
        Expect("batch", "alive", probe="expiry", stage="names dropped, loss alive", on="torch>=1.10"),
        Expect("batch.storage", "del", on="torch-2.*", because="it went with the graph"),
    ],
)
def graph_keeps_the_batch(lab):
    """`(weight * batch[0:1]).sum()`: the loss of one row keeps all rows until backward.

    The product saved the slice; the slice owns the storage and, being a view, its base. So the graph of a loss over
    a part holds the whole. It ends with backward, which is soon enough in training; for graphs that are kept (a
    list of losses, truncated backpropagation) clone the slice first.
    """
    weight = lab.fw.ones(1, COLUMNS, requires_grad=True)
    batch = batch_of(lab)
    loss = (weight * batch[0:1]).sum()
    lab.watch("batch", batch)
    lab.stage("forward done")
    del batch
    lab.stage("names dropped, loss alive")
    del loss
    lab.stage("loss dropped", all_names_gone=True)


@graph_keeps_the_batch.fixed(
    title="a graph that saved a cloned slice",
    fix="weight * batch[0:1].clone()",
    expects=[
        Expect("batch", "dead", probe="expiry", stage="names dropped, loss alive"),
        Expect("batch.storage", "dead", probe="expiry", stage="names dropped, loss alive", on="torch-2.*"),
        Expect("batch", "del"),
    ],
)
def graph_keeps_a_clone(lab):
    """The product saved the clone, which owns its own row; the batch goes while the loss lives."""
    weight = lab.fw.ones(1, COLUMNS, requires_grad=True)
    batch = batch_of(lab)
    loss = (weight * batch[0:1].clone()).sum()
    lab.watch("batch", batch)
    lab.stage("forward done")
    del batch
    lab.stage("names dropped, loss alive")
    del loss
    lab.stage("loss dropped", all_names_gone=True)


@scenario(
    title="views that show more, or otherwise, than there is",
    origin=["pytorch/pytorch#40157"],
    expects=[
        Expect("expanded: numbers", 4096, probe="value"),
        Expect("expanded: bytes", 16, probe="value", on="torch-2.*", because="stride 0 along the new dimension"),
        Expect("expanded shares", True, probe="value", on="torch-*"),
        Expect(
            "expanded clone: bytes", 16384, probe="value", on="torch-2.*", because="a clone writes every number out"
        ),
        Expect("transposed shares", True, probe="value", on="torch-*"),
        Expect("reshaped shares", True, probe="value", on="torch-*", because="contiguous, so a view will do"),
        Expect(
            "reshape after transpose shares", False, probe="value", on="torch-*", because="no strides fit, so it copies"
        ),
        Expect("strides", [[0, 1], [1, 4]], probe="value", on="torch-*"),
    ],
)
def views_by_strides(lab):
    """Which operations copy? `expand`, `transpose`, `view` and slicing never; `reshape` only when it must.

    A tensor is a storage, an offset, a shape and strides. `expand` shows one row 1024 times with a stride of 0: 4096
    numbers, 16 bytes. So `numel() * element size` of the tensors that you hold is not the memory that you hold, in
    either direction: count storages, each once, as the lab's memory probe does.
    """
    fw = lab.fw
    x = lab.tensor()
    expanded = x.expand(1024, 4)
    square = fw.ones(2, 4)
    transposed = square.t()

    def storage_bytes(tensor):
        return tensor.untyped_storage().nbytes() if hasattr(tensor, "untyped_storage") else None

    def shares(one, other):
        return one.data_ptr() == other.data_ptr()

    lab.value("expanded: numbers", expanded.numel())
    lab.value("expanded: bytes", storage_bytes(expanded))
    lab.attempt("expanded shares", lambda: shares(expanded, x))
    lab.value("expanded clone: bytes", storage_bytes(expanded.contiguous()))
    lab.attempt("transposed shares", lambda: shares(transposed, square))
    lab.attempt("reshaped shares", lambda: shares(square.reshape(8), square))
    lab.attempt("reshape after transpose shares", lambda: shares(transposed.reshape(8), square))
    lab.attempt("strides", lambda: [list(expanded.stride()), list(transposed.stride())])
    lab.stage("asked")
