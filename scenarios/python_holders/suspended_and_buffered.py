"""Unfinished work: a suspended generator, and log records that nobody writes."""

import logging
import logging.handlers

from gradlife.scenario import Expect, scenario


def watched_batch(lab):
    """A batch of ones over memory whose death can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch("batch's memory", array)
    return lab.fw.from_numpy(array)


def answer(batch):
    """Waits for a reply that may never come; asyncio's tasks are made of the same stuff."""
    reply = yield
    return (batch * reply).sum()


@scenario(
    title="a request that is never answered",
    origin=["deep-learning-with-pytorch/dlwpt-code#26"],
    pattern="GL507",
    needs="numpy",
    expects=[Expect("batch's memory", "held", because="list of requests -> generator -> its frame -> local `batch`")],
)
def suspended_request(lab):
    """A server keeps its open requests; one of them waits for a reply that never comes.

    Request waits: a generator (or a coroutine, or an asyncio task around one) that stopped at a `yield` owns its frame,
    and the frame owns its locals, the batch among them. Nothing runs, and nothing is freed.

    Requests alone: the list of open requests, or the event loop, is the root (`held`).

    Fix: give every wait a time limit, and `close()` or cancel what ran out of it: that ends the frame.
    """
    requests = []
    lab.hold(requests)
    request = answer(watched_batch(lab))
    next(request)
    requests.append(request)
    lab.stage("request waits")
    del request, requests
    lab.stage("requests alone", all_names_gone=True)


@suspended_request.fixed(
    title="a request that is closed",
    fix="request.close() when its time is up",
    expects=[
        Expect("batch's memory", "dead", probe="expiry", stage="request closed", because="its frame has ended"),
        Expect("batch's memory", "del"),
    ],
)
def closed_request(lab):
    """The same server closes what waits too long. The generator itself may stay on the list: without a frame it holds
    nothing."""
    requests = []
    lab.hold(requests)
    request = answer(watched_batch(lab))
    next(request)
    requests.append(request)
    lab.stage("request waits")
    request.close()
    lab.stage("request closed")
    del request, requests
    lab.stage("requests alone", all_names_gone=True)


def buffered_logger():
    """A logger of its own whose records wait in memory, and the handler that they wait in."""
    handler = logging.handlers.MemoryHandler(capacity=1000)
    logger = logging.Logger("trainer")
    logger.addHandler(handler)
    return logger, handler


@scenario(
    title="a tensor as an argument of a log record",
    origin=["Tribler/tribler#8530", "db0/nataili#15"],
    pattern="GL508",
    needs="numpy",
    expects=[Expect("batch's memory", "held", because="handler -> buffer -> record -> its arguments -> tensor")],
)
def tensor_in_a_log_record(lab):
    """`logger.info("step %d: %s", step, tensor)`: the arguments are put into the text only when it is written.

    Logged: a record owns its arguments as they are. A handler that writes at once lets the record go; one that buffers,
    queues, or keeps the last records for a crash report does not, and each record keeps its tensor, with the graph
    behind it if it has one.

    Handler alone: the buffer is the root (`held`).

    Fix: log numbers and texts.
    """
    logger, handler = buffered_logger()
    lab.hold(handler)
    logger.info("step %d: %s", 1, watched_batch(lab))
    lab.stage("logged")
    del logger, handler
    lab.stage("handler alone", all_names_gone=True)


@tensor_in_a_log_record.fixed(
    title="a number as an argument of a log record",
    fix="log tensor.sum().item()",
    expects=[Expect("batch's memory", "del", because="a float refers to nothing")],
)
def number_in_a_log_record(lab):
    """The same record with a number."""
    logger, handler = buffered_logger()
    lab.hold(handler)
    logger.info("step %d: %s", 1, watched_batch(lab).sum().item())
    lab.stage("logged")
    del logger, handler
    lab.stage("handler alone", all_names_gone=True)
