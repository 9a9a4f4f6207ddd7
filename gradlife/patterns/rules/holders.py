"""GL5xx: Python holders: exceptions, caches, closures, frames, queues, registries."""

from __future__ import annotations

import re

from gradlife.model.hunt import FindingKind
from gradlife.patterns.matching.chains import is_chain_of_functions, is_plain_chain
from gradlife.patterns.matching.growth_kinds import (
    is_filled,
    is_larger,
    is_longer_state,
    is_nested,
    is_of_tee,
    is_spread,
    is_spread_with_graph,
    is_state,
    is_without_graph,
)
from gradlife.patterns.matching.pattern import Case, Pattern, is_collectable

GROWTH = frozenset({FindingKind.GROWTH})
RETAINED = frozenset({FindingKind.RETAINED})

#: A key of a weak dictionary, as a path shows it.
KEY_TYPE = re.compile(r"<weak reference to (.+)>")

FORGET = """\
except RuntimeError as error:
    {holder_code}.append(str(error))  # or error.with_traceback(None)"""


def is_of_warnings(case: Case) -> bool:
    """Whether the registry of a module's warnings holds it."""
    return any(hop.label == "'__warningregistry__'" for step in case.steps for hop in step.hops)


def is_of_torchscript(case: Case) -> bool:
    """Whether the class in the cycle is one that torch.jit.script makes for a call."""
    return any(step.type == "type" and step.detail.startswith("torch._jit_internal.") for step in case.trace.cycle)


def has_own_key(case: Case) -> bool:
    """Whether the path from an entry of a weak dictionary passes through an object of the key's type, if that is known."""
    for number, step in enumerate(case.steps):
        for key in filter(None, (KEY_TYPE.fullmatch(hop.label) for hop in step.hops)):
            return any(after.type == key[1] for after in case.steps[number + 1 :])
    return True


def has_suspended_frame(case: Case) -> bool:
    """Whether the path goes through the frame of a generator or coroutine; that of a finished task only has its result."""
    return any(token.family == "generator" for token in case.path)


SPREAD_PATHS = (
    Pattern(
        "GL527",
        "each of many objects keeps a result with its graph",
        "Each step stores a result that still has its graph ({node}), such as {kept}, in an attribute of one more object. No "
        "container gets longer: together the objects keep the graphs of all steps.",
        "Store a number or a detached tensor.",
        "{keeping}",
        change="{detached}",
        paths=("*.* ...",),
        when=is_spread_with_graph,
        kinds=GROWTH,
        example="module train global variable 'rows' → list [41] → dict ['out'] → Tensor (MseLossBackward0)",
    ),
    Pattern(
        "GL527",
        "each of many objects keeps what a step stored on it",
        "Each step stores something, such as {kept}, in an attribute of one more object. No container gets longer: the "
        "growth ends only when every object has its own.",
        "Compute it again, as a property does, or keep the results of the newest objects in a cache with a limit that is no "
        "attribute of theirs.",
        "",
        paths=("*.* ...",),
        when=is_spread,
        kinds=GROWTH,
        example="module train global variable 'samples' → list [41] → Sample .features → Tensor",
    ),
)

HOLDER_CYCLES = (
    Pattern(
        "GL501",
        "an exception and the frame that caught it hold one another",
        "A local variable of {catching} keeps the exception. Its traceback keeps that frame with all its local variables.",
        "Delete the name in a finally clause, or keep only the text of the exception.",
        "try:\n    ...\nexcept RuntimeError as error:\n    message = str(error)  # not `error` itself",
        cycles=("exception.* ...", "traceback.* ...", "... exception.traceback ..."),
        links=("pytorch/pytorch#10348", "pytorch/pytorch#27600"),
        example="frame of load local variable 'error' → RuntimeError __traceback__ → traceback tb_frame → the same frame",
    ),
    Pattern(
        "GL507",
        "a suspended generator or coroutine is in a cycle",
        "The frame of {frame} is suspended, and one of its local variables leads back to it.",
        "{frame} waits: close the generator, or let it end.",
        "generator.close()",
        cycles=("generator.* ...", "task.* ...", "future.* ..."),
        example="coroutine handle local variable 'reply' → Event → Future → Task → the same coroutine",
    ),
    Pattern(
        "GL517",
        "a local variable keeps its own frame",
        "A local variable of {frame} is the frame of the same call, or leads to it. The call has returned, but its frame lives "
        "on with all local variables, and so do its callers' frames.",
        "Delete the name in a finally clause, or read what you need without keeping the frame.",
        "frame = inspect.currentframe()\ntry:\n    ...\nfinally:\n    del frame",
        cycles=("frame.*+",),
        when=is_collectable,
        links=("pytorch/pytorch#195586",),
        example="frame of caller_line local variable 'here' → the same frame",
    ),
    Pattern(
        "GL506",
        "torch.jit.script compiles again at each step",
        "torch.jit.script makes the class {class_} at each call. Every class is in a cycle, and this one keeps the variables of "
        "the function that calls it ({variable}).",
        "Script the module once, before the loop, and use the result in each step.",
        "scripted = torch.jit.script(model)  # once, outside of the loop",
        cycles=("class.* ...",),
        when=is_of_torchscript,
        example="type torch._jit_internal.….closure_lookup .__getattr__ → function closure variable 'closure' → dict → Tensor",
    ),
    Pattern(
        "GL506",
        "each call creates a class",
        "The class {class_} is defined inside a function that runs at each step. Every class is in a cycle (its method "
        "resolution order and attributes refer to it), and its methods keep their closures ({variable}).",
        "Define the class once, outside the function, and pass what varies to its methods.",
        "class {class_short}(torch.autograd.Function):  # at module level; what varies is an argument of forward()",
        cycles=("class.* ...",),
        links=("pytorch/pytorch#195397",),
        example="type Masked .forward → function closure variable 'mask' → Tensor",
    ),
    Pattern(
        "GL505",
        "an object keeps a function that closes over it",
        "The attribute {attribute} of {owner} leads to {function}, which closes over the same object by {variable}. Only the "
        "collector frees the two.",
        "Make it a method, or give the function the object as an argument.",
        "",
        change="{as_method}",
        cycles=(
            "object.attr|nn.attr|optimizer.attr|thread.attr {inside}~ function.closure|function.default {inside}~",
        ),
        example="Clip .frame_at → function <lambda> closure variable 'self' → the same Clip",
    ),
    Pattern(
        "GL504",
        "an inner function that calls itself",
        "{function} refers to itself through its closure, a cycle that only the collector frees. The closure also keeps "
        "{variable}.",
        "Move it to module level, or pass it to itself as an argument.",
        "",
        cycles=("function.closure {inside}~", "function.closure {inside}~ function.closure|function.default {inside}~"),
        links=("keras-team/keras#23110",),
        example="function helper closure variable 'helper' → the same function",
    ),
    Pattern(
        "GL505",
        "an object keeps one of its own methods",
        "The attribute {attribute} of {owner} is a bound method of the same object, and the method holds the object.",
        "Store the method's name, or a plain function that takes the object.",
        'self.{attribute} = "method_name"      # and getattr(self, self.{attribute})(...)',
        change="{named}",
        cycles=(
            "object.attr|nn.attr|optimizer.attr|thread.attr {inside}~ partial.*~ method.self",
            "object.attr|nn.attr|optimizer.attr|thread.attr {inside}~ function.closure {inside}~ method.self",
        ),
        links=("pytorch/pytorch#128211",),
        example="Pooler .impl → method mean_pool → the same Pooler",
    ),
    Pattern(
        "GL516",
        "objects that refer to one another",
        "A reference cycle runs through {cycle}. It waits for the cyclic collector, and so do all tensors that it holds.",
        "Make one of the references weak, or clear it after use.",
        "import weakref\n\nself.{attribute} = weakref.ref(parent)  # and self.{attribute}() where you need it",
        change="{weak}",
        cycles=("...",),
        when=is_collectable,
        example="Node .children → list [0] → Node .parent → the first Node",
    ),
    Pattern(
        "GL529",
        "gc.freeze() keeps garbage forever",
        "The program calls gc.freeze() while garbage waits for the collector. What is frozen, garbage too, is never looked at "
        "again: no collection frees it.",
        "Call gc.collect() before gc.freeze(), and freeze once, when the program has loaded what stays.",
        "gc.collect(); gc.freeze()  # once, after loading",
        kinds=frozenset(),
        example="Node .me → the same Node, born before a gc.freeze()",
    ),
)

EXCEPTION_PATHS = (
    Pattern(
        "GL501",
        "a kept exception keeps the frames of its traceback",
        "{holder} keeps {exception}. Its traceback holds the frame of {frame} with the local variable {variable}.",
        "Keep the text of the exception, or remove its traceback.",
        FORGET,
        change="{forgotten}",
        paths=(
            "exception.traceback|exception.cause ...",
            "traceback.* ...",
            "logrecord.attr:exc_info ...",
        ),
        links=("pytorch/pytorch#10348", "pytorch/pytorch#27600"),
        example="state .failures → list [3] → RuntimeError __traceback__ → traceback → frame of trial → Tensor",
    ),
    Pattern(
        "GL528",
        "a kept exception keeps what it was raised with",
        "{holder} keeps {exception}. An argument or an attribute of the exception leads to {what}.",
        "Keep the text of the exception, or raise it with a text or a shape instead of the object.",
        "except RuntimeError as error:\n    {holder_code}.append(str(error))",
        paths=("exception.args|exception.attr|exception.field ...",),
        example="state .failures → list [3] → BatchError .batch → Tensor",
    ),
    Pattern(
        "GL517",
        "a kept frame keeps its local variables",
        "{holder} keeps a frame of {frame}, and the frame keeps the local variable {variable}.",
        "Keep only what you need of the frame: its name, its line.",
        "",
        paths=("frame.local ...",),
        example="state .callers → list [2] → frame of step local variable 'batch' → Tensor",
    ),
)

HOLDER_PATHS = (
    Pattern(
        "GL526",
        "each use adds a handler to a logger",
        "{holder} has {count} entries: each use adds a handler or a filter and removes none. All of them get each record.",
        "Add it once, at the start of the program, or remove it after use.",
        "logger.addHandler(handler)\ntry:\n    ...\nfinally:\n    logger.removeHandler(handler)\n    handler.close()",
        change="{removal}",
        paths=("logger.attr:handlers|logger.attr:filters|loghandler.attr:filters @ list.item ...",),
        kinds=GROWTH,
        example="Logger .handlers → list [41] → StreamHandler",
    ),
    Pattern(
        "GL508",
        "log records wait in a buffer with their arguments",
        "{holder} is a handler that buffers log records, and a record keeps its arguments.",
        "Log numbers and texts, not tensors, or flush the handler.",
        'logger.info("loss %f", loss.item())',
        paths=("loghandler.* ...", "logrecord.* ..."),
        links=("Tribler/tribler#8530",),
        example="state .handler → MemoryHandler .buffer → list [7] → LogRecord .args → tuple [1] → Tensor",
    ),
    Pattern(
        "GL519",
        "itertools.tee keeps what one of its iterators has not read yet",
        "One iterator of the tee is ahead of another, and every item between them stays until the other has read it, too.",
        "Advance its iterators together, delete the one that you no longer read, or read the source twice.",
        "",
        paths=("cycle.* ...",),
        when=is_of_tee,
        example="module train global variable 'preview' → itertools._tee → _tee_dataobject [3] → Tensor",
    ),
    Pattern(
        "GL519",
        "itertools.cycle keeps everything that went through it",
        "{holder} keeps every item of its first pass to repeat it.",
        "Iterate again instead of repeating.",
        "def forever(loader):\n    while True:\n        yield from loader",
        paths=("cycle.* @ {growing} ...", "cycle.* ..."),
        links=("pytorch/pytorch#23900",),
        example="state .batches → itertools.cycle → list [41] → Tensor",
    ),
    Pattern(
        "GL509",
        "a queue is filled and not emptied",
        "Each step adds more to the queue {holder} than its consumer removes.",
        "Set a maxsize, so that the producer waits, and check that the consumer runs.",
        "queue.Queue(maxsize=16)",
        paths=(
            "queue.* @ {growing} ...",
            "sender.attr:_buffer @ {growing} ...",
            "queue.* ...",
            "sender.attr:_buffer ...",
            "work.* ...",
        ),
        example="state .writer → Writer .events → Queue .queue → deque [41] → dict ['values'] → Tensor",
    ),
    Pattern(
        "GL503",
        "an entry of a weak dictionary holds its own key",
        "{holder} removes an entry when its key dies. But the entry's value leads to the key, so the key never dies.",
        "Store names, numbers or weak references in the value.",
        "{holder_code}[model] = [name for name, _ in model.named_modules()]",
        paths=("weakdict.attr:data dict.value ...",),
        when=has_own_key,
        links=("python/cpython#88846", "pytorch/pytorch#112301"),
        example="module profiles → WeakKeyDictionary .data → dict → list [0] → Linear .weight → Parameter",
    ),
    Pattern(
        "GL502",
        "a cache has objects among its keys",
        "{cache} keeps its arguments as keys, and one key leads to {what}. The cache of a method belongs to the class and has "
        "`self` in every key.",
        "Cache on the object, or in a function that takes only the real key.",
        "self.{attribute} = {}  # one dictionary per object, in __init__",
        paths=(
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
        "Set a maxsize, or clear the cache after use.",
        "@functools.lru_cache(maxsize=32)",
        paths=("lru.* ...",),
        example="module global variable 'encode' → lru_cache → dict → Tensor",
    ),
    Pattern(
        "GL507",
        "a suspended generator, coroutine or task keeps its local variables",
        "{frame} is suspended, and {holder} keeps it. Its local variable {variable} lives until it ends.",
        "{frame} waits. Let it end: close the generator, cancel the task, or complete what it waits for.",
        "task.cancel()          # for a generator: generator.close()",
        paths=("generator.* ...", "task.* ..."),
        when=has_suspended_frame,
        example="state .reply → Event → Future → Task → coroutine handle local variable 'image' → Tensor",
    ),
    Pattern(
        "GL507",
        "a greenlet that waits keeps its local variables",
        "A greenlet waits in {frame}, and {holder} keeps it. Its local variable {variable} lives until it ends.",
        "{frame} waits. Let it end: give the wait a timeout, kill the greenlet, or complete what it waits for.",
        "greenlet.kill()",
        paths=("greenlet.local ...",),
        example="module server global variable 'closed' → Event ._links → list [41] → Greenlet local variable 'out' → Tensor",
    ),
    Pattern(
        "GL520",
        "a mock keeps the arguments of its calls",
        "{holder} is a mock of unittest.mock. It keeps the arguments of every call.",
        "Reset it, or use a plain function instead.",
        "{holder_code}.reset_mock()",
        paths=("mock.* ...",),
        example="state .callback → MagicMock .mock_calls → call → Tensor",
    ),
    Pattern(
        "GL521",
        "scheduled callbacks keep their arguments",
        "{holder} of an event loop has {count} callbacks that wait for their time. Each keeps its arguments until it has run or "
        "is cancelled.",
        "Schedule it sooner, or cancel the handle when you no longer need it.",
        "handle = loop.call_later(delay, function)\n...\nhandle.cancel()",
        paths=("@ {growing} loop.* ...",),
        kinds=GROWTH,
        example="frame of main local variable 'loop' → EventLoop ._scheduled → list [41] → TimerHandle ._args → Tensor",
    ),
    Pattern(
        "GL521",
        "an ExitStack keeps every context until it closes",
        "Each step enters a context in {holder} or gives it a callback, and it keeps all {count} of them until it closes.",
        "Enter the context in a with statement inside the loop, or open an ExitStack for each step.",
        "with contextlib.ExitStack() as stack:  # inside the loop\n    ...",
        paths=("exitstack.* @ {growing} ...",),
        kinds=GROWTH,
        example="module train global variable 'stack' → ExitStack ._exit_callbacks → deque [41] → tuple [1] → method",
    ),
    Pattern(
        "GL521",
        "a registered callback keeps its arguments",
        "A registered callback ({registry}) keeps {what} until it is called.",
        "Unregister it when you no longer need it, and pass plain data as arguments.",
        "finalizer.detach()          # or atexit.unregister(function)",
        change="{removal}",
        paths=(
            "finalizer.* ...",
            "interpreter.root:* function.*|partial.*|method.*|tuple.*|dict.* ...",
            "interpreter.root:atexit* list.item tuple.item ...",  # atexit from Python 3.14 on
        ),
        example="type finalize ._registry → dict → finalize._Info .args → tuple [0] → Tensor",
    ),
    Pattern(
        "GL522",
        "a context variable or thread-local data keeps it",
        "{holder} belongs to a thread or a context that has not ended.",
        "Reset it after the step.",
        "token = variable.set(value)\n...\nvariable.reset(token)",
        paths=(
            "threadlocal.* ...",
            "context.* ...",
            "threadstate.root:context ...",
            "threadstate.root:thread-locals ...",
        ),
        example="thread context → Context → dict → Tensor",
    ),
    Pattern(
        "GL522",
        "thread-local or context data grows",
        "{holder} has {count} entries: each step adds one, and nothing removes any. It belongs to a thread or a context that has "
        "not ended.",
        "Clear it after the step, or end the thread or the context.",
        "{clearing}",
        paths=("threadlocal.* dict.value~ @ {growing} ...", "threadstate.root:context context.*~ @ {growing} ..."),
        when=is_without_graph,
        kinds=GROWTH,
        example="module workers global variable 'store' → _local .kept → list [41] → Tensor",
    ),
    Pattern(
        "GL523",
        "a thread that has not ended keeps its arguments",
        "A thread has not ended, or {holder} still refers to it, and it keeps its arguments.",
        "{ending} join() alone would hang, and daemon=True ends it only with the program.",
        paths=("thread.attr:_target|thread.attr:_args|thread.attr:_kwargs ...", "@ {growing} thread.* ..."),
        example="state .workers → list [4] → Thread ._args → tuple [0] → Tensor",
    ),
    Pattern(
        "GL510",
        "an interactive session keeps its results",
        "The session keeps what each cell displayed (`Out`, `_`, `_7`).",
        "End the line with a semicolon, or reset the history.",
        "%reset -f out",
        paths=("session.* ...",),
        links=("jupyter/notebook#2201",),
        example="InteractiveShell .user_ns → dict ['Out'] → dict [7] → Tensor",
    ),
    Pattern(
        "GL524",
        "torch.compile's own caches keep it",
        "A cache of torch.compile ({holder}) keeps what it compiled, and with it {what}.",
        "Do not compile at each step, and clear the caches when the model is gone.",
        "torch.compiler.reset()",
        paths=("compilermodule.* ...", "compiler.* ..."),
        links=("pytorch/pytorch#119607", "pytorch/pytorch#112090"),
        example="module torch._dynamo.… global variable → dict → … → Tensor",
    ),
)

PLAIN_PATHS = (
    Pattern(
        "GL515",
        "each warning has a new text, and all are remembered",
        "{holder} has {count} entries: Python remembers the text of every warning of a module to show it once. The text differs "
        "at each step.",
        "Warn with a constant text, and log the values.",
        'warnings.warn("the gradient is large")\nlogger.debug("norm %s", norm)',
        paths=("@ {growing} ...",),
        when=is_of_warnings,
        kinds=GROWTH,
        example="module train .__warningregistry__ → dict [41] → tuple [0] → str",
    ),
    Pattern(
        "GL514",
        "a metric keeps every update until reset()",
        "{holder} has {count} items: each update of {owner} adds some, and its reset() empties it. It was not called in the "
        "steps seen.",
        "Call reset() when you have computed the result, for example after each epoch.",
        "value = {owner_code}.compute()\n{owner_code}.reset()",
        paths=("@ {growing} ...",),
        when=is_state,
        kinds=GROWTH,
        example="module train global variable 'metric' → AveragePrecision .preds → list [240] → Tensor",
    ),
    Pattern(
        "GL511",
        "each step adds an attribute under a new name",
        "Each step sets an attribute of {holder} under a new name, here {attribute}, and nothing deletes any.",
        "Set one attribute again and again, or keep the last few in a deque with a maxlen.",
        "",
        paths=("@ object.attr|nn.attr|class.attr|function.attr|tensor.attr|optimizer.attr|thread.attr ...",),
        kinds=GROWTH,
        example="module train global variable 'model' → Net .activation_41 → Tensor",
    ),
    Pattern(
        "GL511",
        "each step adds a global variable under a new name",
        "Each step adds a variable to the module under a new name, and nothing deletes any.",
        "Set one variable again and again, or keep the last few in a deque with a maxlen.",
        "",
        paths=("@ module.global ...",),
        kinds=GROWTH,
        example="module train global variable 'batch_41' → Tensor",
    ),
    Pattern(
        "GL521",
        "each step registers a callback, and none is removed",
        "{holder} has {count} callbacks: each step adds one, and nothing removes any. Each keeps its object, its closure or "
        "its arguments, and a call of all of them takes longer each time.",
        "Register it once, or remove it when its owner is done.",
        "{holder_code}.remove(callback)  # when its owner is done",
        paths=("@ list.item|set.item function.*|method.*|partial.* ...",),
        kinds=GROWTH,
        example="state .handlers → list [41] → method .__self__ → Meter .values → Tensor",
    ),
    Pattern(
        "GL512",
        "each step fills another item of an array",
        "Each step puts an object into another item of the array {holder}, and nothing empties any: the array keeps them all.",
        "Store numbers in an array of numbers, or use the same few items again.",
        "",
        paths=("@ array.item ...",),
        kinds=GROWTH,
        example="module train global variable 'table' → ndarray object [1000] → Tensor",
    ),
    Pattern(
        "GL512",
        "each step leaves a file or a socket open",
        "{holder} has {count} items: each step adds one that is open, and nothing removes any. The system lets a process have "
        "some thousand of them (ulimit -n).",
        "Close it after use, and keep its name if you need it again.",
        'with open(path, "rb") as file:\n    data = file.read()',
        paths=("@ {growing} =openfile$",),
        kinds=GROWTH,
        example="module train global variable 'files' → list [41] → BufferedReader",
    ),
    Pattern(
        "GL512",
        "each step adds a task, and none leaves when it is done",
        "{holder} has {count} items: each step adds a task, and a finished one keeps its result until it is removed.",
        "Let each task leave when it is done, with `task.add_done_callback({leaving})`. Until then something has to hold it: the "
        "event loop alone does not.",
        "",
        paths=("@ {growing} task.* ...", "@ {growing} =task$"),
        kinds=GROWTH,
        example="module train global variable 'tasks' → set [41] → _asyncio.Task ._result → Tensor",
    ),
    Pattern(
        "GL512",
        "each step keeps a future with its result",
        "{holder} has {count} items: each step adds a future, and one that is done keeps its result.",
        "Take the result when it is done, and let the future go: it keeps the result as long as it lives.",
        "",
        paths=("@ {growing} future.* ...", "@ {growing} =future$"),
        kinds=GROWTH,
        example="module train global variable 'futures' → list [41] → Future ._result → Tensor",
    ),
    Pattern(
        "GL512",
        "each step adds items to several containers",
        "{holder} has {count} items. Some of them are containers that the steps add to, and nothing removes any.",
        "Keep only the last few in each, or only what you need.",
        "",
        paths=("@ {growing} ...",),
        when=is_nested,
        kinds=GROWTH,
        example="module train global variable 'postings' → dict ['a'] → list [41] → Tensor",
    ),
    Pattern(
        "GL511",
        "each step adds an entry to a dictionary",
        "The dictionary {holder} has {count} entries: each step adds one under a new key, and nothing removes any.",
        "Remove the entry together with its owner, or bound the dictionary.",
        "{holder_code}.pop(key, None)  # when its owner is done",
        change="{dropped}  # when you need it no longer",
        paths=("@ dict.value|dict.key ...",),
        kinds=GROWTH,
        links=("flashinfer-ai/flashinfer#3709",),
        example="module global variable '_PREPARED' → dict [(140…, 3)] → Tensor",
    ),
    Pattern(
        "GL512",
        "each step appends to a list",
        "{holder} has {count} items: each step appends to it, and nothing removes any.",
        "Keep only the last few, or only what you need of each.{reading}",
        "{bounding}",
        paths=("@ {growing} ...",),
        kinds=GROWTH,
        example="state .samples → list [41] → Tensor",
    ),
    Pattern(
        "GL518",
        "each function wraps the one before",
        "{holder} leads to a function that keeps the one it replaced, which keeps the one before: each step wraps it once more.",
        "Wrap it once, outside of the steps, or put the first one back before it is wrapped again.",
        "",
        paths=("object.*|partial.*|function.*|method.* ...", "tuple.*|dict.*|list.* ..."),
        when=is_chain_of_functions,
        kinds=GROWTH,
        example="module train global variable 'step' → function <closure> → function <closure> → function <closure> → function",
    ),
    Pattern(
        "GL518",
        "each object of a chain keeps the one before",
        "{holder} leads to an object of the same type, which leads to the next: the newest keeps all earlier ones.",
        "Cut the chain: keep only what you need of the previous object.",
        "{holder_code} = None  # when the next object is created",
        change="{cleared}  # when the next object is created",
        paths=("object.*|partial.*|function.* ...", "tuple.*|dict.*|list.* ..."),
        when=is_plain_chain,
        kinds=GROWTH,
        example="state .current → Step .previous → Step .previous → Step …",
    ),
    Pattern(
        "GL514",
        "a metric keeps every update until reset()",
        "{holder} ({what}) gets longer with each update of {owner}, and its reset() empties it. It was not called in the "
        "steps seen.",
        "Call reset() when you have computed the result, for example after each epoch.",
        "value = {owner_code}.compute()\n{owner_code}.reset()",
        paths=("=*$",),
        when=is_longer_state,
        kinds=GROWTH,
        example="module train global variable 'metric' → AveragePrecision .preds → Tensor float32 [240, 10]",
    ),
    Pattern(
        "GL511",
        "each step adds entries to a dictionary",
        "Each step adds entries to {holder} ({what}) under new keys, and nothing removes any.",
        "Remove entries that are needed no longer, or bound the dictionary.",
        "while len({holder_code}) > 10_000:\n    del {holder_code}[next(iter({holder_code}))]  # the oldest",
        paths=("=dict$",),
        when=is_filled,
        kinds=GROWTH,
        example="module train global variable 'index' → dict",
    ),
    Pattern(
        "GL512",
        "each step adds items to a container",
        "Each step adds items to {holder} ({what}), and nothing removes any.",
        "Keep only the last few, or write them to a file.",
        "",
        paths=("=list$", "=deque$", "=set$"),
        when=is_filled,
        kinds=GROWTH,
        example="module train global variable 'lines' → list",
    ),
    Pattern(
        "GL704",
        "a sparse gradient gets longer with each backward pass",
        "Each backward pass appends its rows to the sparse gradient of a parameter, because nothing has zeroed it.",
        "Zero the gradients before each backward pass. To accumulate some on purpose, coalesce them.",
        "optimizer.zero_grad()  # before each backward()",
        paths=("tensor.grad tensor.base =tensor$",),
        when=is_larger,
        kinds=GROWTH,
        example="module train global variable 'emb' → Embedding .weight → Parameter grad → SparseTensorImpl part → TensorImpl",
    ),
    Pattern(
        "GL704",
        "a tensor is made longer at each step",
        "Each step replaces {holder} ({what}) by a longer one that contains it. It grows without end, and each step copies all "
        "of it.",
        "Keep only the last part, or fill a tensor of a fixed size in place.",
        "{holder_code} = torch.cat([{holder_code}, new])[-10_000:].clone()",
        change="{shortened}",
        paths=("=tensor$",),
        when=is_larger,
        kinds=GROWTH,
        example="state .seen → Tensor float32 [4096, 64], [4104, 64], [4112, 64] …",
    ),
    Pattern(
        "GL704",
        "an array is made longer at each step",
        "Each step replaces {holder} ({what}) by a longer one that contains it. It grows without end, and each step copies all "
        "of it.",
        "Keep only the last part, or fill an array of a fixed size in place.",
        "{holder_code} = numpy.concatenate([{holder_code}, new])[-10_000:].copy()",
        change="{shortened_array}",
        paths=("=array$",),
        when=is_larger,
        kinds=GROWTH,
        example="state .seen → ndarray float32 [4096, 64], [4104, 64], [4112, 64] …",
    ),
    Pattern(
        "GL704",
        "each step writes to a file in memory",
        "Each step writes to {holder} ({what}), and nothing removes any of it: its whole content is in memory.",
        "Write to a file on disk, or empty it after use.",
        "{emptying}",
        paths=("=memoryfile$",),
        when=is_larger,
        kinds=GROWTH,
        example="module train global variable 'log' → StringIO",
    ),
    Pattern(
        "GL704",
        "a text or a buffer is made longer at each step",
        "Each step adds to {holder} ({what}), and nothing removes any of it.",
        "Write it to a file, or keep only the last part.",
        "{holder_code} = {holder_code}[-100_000:]",
        paths=("=*$",),
        when=is_larger,
        kinds=GROWTH,
        example="module train global variable 'log' → str of 4 kB, 8 kB, 12 kB …",
    ),
    Pattern(
        "GL525",
        "an attribute keeps what the last step left there",
        "{holder} still refers to {what} after the step, until the next step replaces it.",
        "Set it to None at the end of the step, or keep it in a local variable.",
        "{holder_code} = None",
        paths=("object.attr|optimizer.attr|thread.attr|*.global|class.attr|function.* {inside}~ =*$",),
        when=is_without_graph,
        kinds=RETAINED,
        example="state .last_output → Tensor",
    ),
)
