"""GL5xx: what Python itself keeps: exceptions, caches, closures, frames, queues, registries."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.patterns.chains import backbone
from gradlife.patterns.pattern import SPREAD, SWELLING, Case, Pattern

GROWTH = frozenset({FindingKind.GROWTH})
RETAINED = frozenset({FindingKind.RETAINED})
FORGET = """\
except RuntimeError as error:
    {holder_code}.append(str(error))  # or error.with_traceback(None)"""


def is_plain_chain(case: Case) -> bool:
    """Do at least three objects of one type follow one another, each held by the one before?"""
    kinds = [step.type for step in case.steps if step.kind == "python" and step.length is None]
    return case.site is None and any(kinds.count(kind) >= 3 for kind in set(kinds))


def is_swelling(case: Case) -> bool:
    """Is it known that what is held gets larger itself?"""
    return case.anchor == SWELLING and is_without_graph(case)


def is_spread(case: Case) -> bool:
    """Is it known that many objects got one each?"""
    return case.anchor == SPREAD


def is_spread_with_graph(case: Case) -> bool:
    """The same of results with their graphs."""
    return is_spread(case) and case.has_graph


def is_without_graph(case: Case) -> bool:
    """Is no graph on the way or on what is kept?"""
    return not case.has_graph and not backbone(case)


def is_collectable(case: Case) -> bool:
    """Does the collector free it?"""
    return case.lifetime == "gc"


SPREAD_WAYS = (
    Pattern(
        "GL527",
        "each of many objects keeps a result with its graph",
        "Each step gives other objects a result that still has its graph ({node}), {kept} for one. No container gets longer: "
        "together they keep the graphs of all steps.",
        "Keep a number or a detached tensor on them.",
        "{keeping}",
        ways=("*.* ...",),
        when=is_spread_with_graph,
        kinds=GROWTH,
        example="module train global variable 'rows' → list [41] → dict ['out'] → Tensor (MseLossBackward0)",
    ),
    Pattern(
        "GL527",
        "each of many objects keeps what a step gave it",
        "Each step gives other objects something to keep, {kept} for one. No container gets longer: together they keep what all "
        "steps made, until each of them has its own.",
        "Keep it beside the objects in a cache with a limit, or make it anew.",
        "@functools.lru_cache(maxsize=128)  # in place of the attribute",
        ways=("*.* ...",),
        when=is_spread,
        kinds=GROWTH,
        example="module train global variable 'samples' → list [41] → Sample .features → Tensor",
    ),
)

HOLDER_RINGS = (
    Pattern(
        "GL501",
        "an exception and the frame that caught it hold one another",
        "A local variable of {catching} keeps the exception; its traceback keeps that frame, with all its local variables.",
        "Delete the name in a finally clause, or keep only the text of the exception.",
        "try:\n    ...\nexcept RuntimeError as error:\n    message = str(error)  # not `error` itself",
        rings=("exception.* ...", "traceback.* ...", "... exception.traceback ..."),
        links=("pytorch/pytorch#10348", "pytorch/pytorch#27600"),
        example="frame of load local variable 'error' → RuntimeError __traceback__ → traceback tb_frame → the same frame",
    ),
    Pattern(
        "GL507",
        "a suspended generator or coroutine is in a ring",
        "The frame of {frame} waits, and a local variable of it leads back to it.",
        "Close the generator, or let it end.",
        "generator.close()",
        rings=("generator.* ...", "task.* ...", "future.* ..."),
        example="coroutine handle local variable 'reply' → Event → Future → Task → the same coroutine",
    ),
    Pattern(
        "GL517",
        "a local variable keeps its own frame",
        "A local variable of {frame} is the frame of this very call, or leads to it: the call has returned, and its frame "
        "lives on with all its local variables, and with the frames that called it and theirs.",
        "Delete the name in a finally clause, or read what you need without keeping the frame.",
        "frame = inspect.currentframe()\ntry:\n    ...\nfinally:\n    del frame",
        rings=("frame.*+",),
        when=is_collectable,
        links=("pytorch/pytorch#195586",),
        example="frame of caller_line local variable 'here' → the same frame",
    ),
    Pattern(
        "GL506",
        "a class is made for each call",
        "The class {class_} is defined inside a function that runs at each step. A class is a ring by birth (its own "
        "method resolution order and attributes refer to it), and its methods keep what they close over ({variable}).",
        "Define the class once, outside of the function, and hand what varies to its methods.",
        "class {class_short}(torch.autograd.Function):  # at module level; what varies is an argument of forward()",
        rings=("class.* ...",),
        links=("pytorch/pytorch#195397",),
        example="type Masked .forward → function closure variable 'mask' → Tensor",
    ),
    Pattern(
        "GL504",
        "an inner function that calls itself",
        "{function} refers to itself through its closure, a ring that only the collector frees, and its closure keeps "
        "{variable}.",
        "Make it a function of the module, or pass it to itself as an argument.",
        "",
        rings=("function.closure {inside}~", "function.closure {inside}~ function.closure|function.default {inside}~"),
        links=("keras-team/keras#23110",),
        example="function helper closure variable 'helper' → the same function",
    ),
    Pattern(
        "GL505",
        "an object keeps one of its own methods",
        "The attribute {attribute} of {owner} is a bound method of the same object, which owns the object.",
        "Keep the method's name, or a plain function that is called with the object.",
        'self.{attribute} = "method_name"      # and getattr(self, self.{attribute})(...)',
        rings=(
            "object.attr|nn.attr|optimizer.attr {inside}~ partial.*~ method.self",
            "object.attr|nn.attr|optimizer.attr {inside}~ function.closure {inside}~ method.self",
        ),
        links=("pytorch/pytorch#128211",),
        example="Pooler .impl → method mean_pool → the same Pooler",
    ),
    Pattern(
        "GL516",
        "objects that refer to one another",
        "A ring of references runs through {ring}. Reference counting never frees it; it waits for the cyclic collector, "
        "with all the tensors that hang on it.",
        "Make one of the references weak, or clear it when the work is done.",
        "import weakref\n\nself.{attribute} = weakref.ref(parent)  # and self.{attribute}() where it is needed",
        rings=("...",),
        when=is_collectable,
        example="Node .children → list [0] → Node .parent → the first Node",
    ),
)

EXCEPTION_WAYS = (
    Pattern(
        "GL501",
        "a kept exception keeps the frames of its traceback",
        "{holder} keeps {exception}: its traceback holds the frame of {frame}, with the local variable {variable}.",
        "Keep the text of the exception, or cut its traceback off.",
        FORGET,
        ways=(
            "exception.traceback|exception.cause|exception.field ...",
            "traceback.* ...",
            "logrecord.attr:exc_info ...",
        ),
        links=("pytorch/pytorch#10348", "pytorch/pytorch#27600"),
        example="state .failures → list [3] → RuntimeError __traceback__ → traceback → frame of trial → Tensor",
    ),
    Pattern(
        "GL517",
        "a kept frame keeps its local variables",
        "{holder} keeps a frame of {frame}, and with it the local variable {variable}.",
        "Keep what you need of the frame: its name, its line.",
        "",
        ways=("frame.local ...",),
        example="state .callers → list [2] → frame of step local variable 'batch' → Tensor",
    ),
)

HOLDER_WAYS = (
    Pattern(
        "GL526",
        "a handler is added to a logger at each use",
        "{holder} has {count} entries: each use adds a handler or a filter, and none is removed. Every record goes through all "
        "of them.",
        "Add it once, where the program begins; or remove it when it has done its work.",
        "logger.addHandler(handler)\ntry:\n    ...\nfinally:\n    logger.removeHandler(handler)\n    handler.close()",
        ways=("logger.attr:handlers|logger.attr:filters|loghandler.attr:filters @ list.item ...",),
        kinds=GROWTH,
        example="Logger .handlers → list [41] → StreamHandler",
    ),
    Pattern(
        "GL508",
        "log records wait in a buffer with their arguments",
        "{holder} is a handler that keeps log records, and a record keeps the objects it will be written with.",
        "Log numbers and texts, not tensors; or flush the handler.",
        'logger.info("loss %f", loss.item())',
        ways=("loghandler.* ...", "logrecord.* ..."),
        links=("Tribler/tribler#8530",),
        example="state .handler → MemoryHandler .buffer → list [7] → LogRecord .args → tuple [1] → Tensor",
    ),
    Pattern(
        "GL519",
        "itertools.cycle or tee keeps everything that went through it",
        "{holder} repeats what it has seen, and so it has kept every item of its first pass.",
        "Iterate anew instead of repeating.",
        "def forever(loader):\n    while True:\n        yield from loader",
        ways=("cycle.* ...",),
        links=("pytorch/pytorch#23900",),
        example="state .batches → itertools.cycle → list [41] → Tensor",
    ),
    Pattern(
        "GL509",
        "a queue is filled and not emptied",
        "{holder} is a queue to which each step adds, and nothing takes away as much.",
        "Bound the queue, so that the producer waits, and see that its consumer runs.",
        "queue.Queue(maxsize=16)",
        ways=("queue.* ...", "sender.attr:_buffer ...", "work.* ..."),
        example="state .writer → Writer .events → Queue .queue → deque [41] → dict ['values'] → Tensor",
    ),
    Pattern(
        "GL503",
        "an entry of a weak dictionary holds its own key",
        "{holder} lets go of an entry when its key dies, but the value of the entry leads to the key, or to a part of it, "
        "so that the key never dies.",
        "Let the value hold names and numbers, or weak references.",
        "{holder_code}[model] = [name for name, _ in model.named_modules()]",
        ways=("weakdict.attr:data dict.value ...",),
        links=("python/cpython#88846", "pytorch/pytorch#112301"),
        example="module profiles → WeakKeyDictionary .data → dict → list [0] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL502",
        "a cache has objects among its keys",
        "{cache} keeps what it was called with, and a key of it leads to {what}. A method's cache belongs to the "
        "class and has `self` in every key.",
        "Cache on the object, or in a function of what is really the key.",
        "self.{attribute} = {}  # a dictionary of the object's own, in __init__",
        ways=(
            "lru.cache|lru.field dict.key ...",
            "lru.cache|lru.field tuple.item ...",
            "lru.cache|lru.field object.* ...",
            "lru.cache|lru.field nn.* ...",
        ),
        links=("meta-pytorch/botorch#1650", "huggingface/transformers#45412", "pytorch/pytorch#127686"),
        example="type Kernel .grid → lru_cache → a key → tuple [0] → Kernel .lengthscale → Tensor",
    ),
    Pattern(
        "GL513",
        "a cache keeps every result",
        "{cache} keeps a result for each different call, {most}.",
        "Give it a maxsize, or clear it when the work is done.",
        "@functools.lru_cache(maxsize=32)",
        ways=("lru.* ...",),
        example="module global variable 'encode' → lru_cache → dict → Tensor",
    ),
    Pattern(
        "GL507",
        "a suspended generator, coroutine or task keeps its local variables",
        "{frame} has not ended: its local variable {variable} lives until it does. It waits, and {holder} keeps it.",
        "Let it end: cancel the task, close the generator, answer what it waits for.",
        "task.cancel()          # of a generator: generator.close()",
        ways=("generator.* ...", "task.* ..."),
        example="state .reply → Event → Future → Task → coroutine handle local variable 'image' → Tensor",
    ),
    Pattern(
        "GL520",
        "a mock records what it is called with",
        "{holder} is a mock of unittest.mock, which keeps the arguments of every call.",
        "Reset it, or put a plain function in its place.",
        "{holder_code}.reset_mock()",
        ways=("mock.* ...",),
        example="state .callback → MagicMock .mock_calls → call → Tensor",
    ),
    Pattern(
        "GL521",
        "a registered callback waits for its moment",
        "A callback that was registered for later ({registry}) keeps {what} until that moment comes.",
        "Unregister it when it is no longer needed; let its arguments be plain data.",
        "finalizer.detach()          # or atexit.unregister(function)",
        ways=("finalizer.* ...", "interpreter.root:* function.*|partial.*|method.*|tuple.*|dict.* ..."),
        example="type finalize ._registry → dict → finalize._Info .args → tuple [0] → Tensor",
    ),
    Pattern(
        "GL522",
        "a context variable or a thread's local data keep it",
        "{holder} belongs to a thread or a context that has not ended.",
        "Reset it when the step is done.",
        "token = variable.set(value)\n...\nvariable.reset(token)",
        ways=(
            "threadlocal.* ...",
            "context.* ...",
            "threadstate.root:context ...",
            "threadstate.root:thread-locals ...",
        ),
        example="thread context → Context → dict → Tensor",
    ),
    Pattern(
        "GL522",
        "what a thread or a context keeps for itself grows",
        "{holder} has {count} entries. It is local data of a thread or of a context, which has not ended: each step adds to "
        "it, and nothing removes any.",
        "Empty it when the step is done, or let the thread or the context end with it.",
        "{holder_code}.clear()",
        ways=("threadlocal.* dict.value~ @ {growing} ...", "threadstate.root:context context.*~ @ {growing} ..."),
        when=is_without_graph,
        kinds=GROWTH,
        example="module workers global variable 'store' → _local .kept → list [41] → Tensor",
    ),
    Pattern(
        "GL523",
        "a thread that has not ended keeps its arguments",
        "A thread, {holder}, has not ended or is still referred to, and keeps what it was made with.",
        "Let the thread end, and let go of it.",
        "thread.join()",
        ways=("thread.* ...",),
        example="state .workers → list [4] → Thread ._args → tuple [0] → Tensor",
    ),
    Pattern(
        "GL510",
        "an interactive session keeps its results",
        "The session keeps what each cell displayed (`Out`, `_`, `_7`).",
        "End the line with a semicolon, or reset the history.",
        "%reset -f out",
        ways=("session.* ...",),
        links=("jupyter/notebook#2201",),
        example="InteractiveShell .user_ns → dict ['Out'] → dict [7] → Tensor",
    ),
    Pattern(
        "GL524",
        "torch.compile's own caches keep it",
        "A cache of torch.compile ({holder}) keeps what it compiled, and with it {what}.",
        "Clear the caches when the model is gone; do not compile anew at each step.",
        "torch.compiler.reset()",
        ways=("compilermodule.* ...", "compiler.* ..."),
        links=("pytorch/pytorch#119607", "pytorch/pytorch#112090"),
        example="module torch._dynamo.… global variable → dict → … → Tensor",
    ),
)

PLAIN_WAYS = (
    Pattern(
        "GL511",
        "a registry gets an entry at each step",
        "The dictionary {holder} has {count} entries: each step adds one under a new key, and none is removed.",
        "Remove the entry with what it belongs to, or bound the dictionary.",
        "weakref.finalize(owner, {holder_code}.pop, key, None)",
        ways=("@ dict.value|dict.key ...",),
        kinds=GROWTH,
        links=("flashinfer-ai/flashinfer#3709",),
        example="module global variable '_PREPARED' → dict [(140…, 3)] → Tensor",
    ),
    Pattern(
        "GL512",
        "a list grows by what each step appends",
        "{holder} has {count} items: each step appends to it, and nothing removes any.",
        "Keep the last few, or what you need of them.",
        "{holder_code} = collections.deque(maxlen=100)",
        ways=("@ {growing} ...",),
        kinds=GROWTH,
        example="state .samples → list [41] → Tensor",
    ),
    Pattern(
        "GL518",
        "a chain of objects, each of which keeps the one before",
        "{holder} leads to an object of the same type, and that to the next: the newest keeps all before it.",
        "Cut the chain: keep what you need of the former object.",
        "self.{attribute} = None  # when the successor is made",
        ways=("object.* ...",),
        when=is_plain_chain,
        kinds=GROWTH,
        example="state .current → Step .previous → Step .previous → Step …",
    ),
    Pattern(
        "GL704",
        "a tensor is made longer at each step",
        "{holder} is one {what} that is replaced at each step by a longer one, made of itself and something new: it grows "
        "without end, and each step copies all of it.",
        "Keep the last part only, or fill a tensor of a fixed size in place.",
        "{holder_code} = torch.cat([{holder_code}, new])[-10_000:].clone()",
        ways=("=tensor$", "=array$"),
        when=is_swelling,
        kinds=GROWTH,
        example="state .seen → Tensor float32 [4096, 64], [4104, 64], [4112, 64] …",
    ),
    Pattern(
        "GL525",
        "an attribute keeps what the last step left there",
        "{holder} still refers to {what} when the step is done, and keeps it until the next step replaces it.",
        "Set it to None at the end of the step, or keep it in a local variable.",
        "{holder_code} = None",
        ways=("object.attr|*.global|class.attr|function.* {inside}~ =*$",),
        when=is_without_graph,
        kinds=RETAINED,
        example="state .last_output → Tensor",
    ),
)
