"""Group types of frameworks and the standard library into families."""

from __future__ import annotations

import re
import sys

#: Families by full type name, or by a prefix that ends in a dot. For a program's class the first known base counts;
#: without one it is an `object`.
FAMILIES: dict[str, str] = {
    "list": "list",
    "tuple": "tuple",
    "dict": "dict",
    "set": "set",
    "frozenset": "set",
    "mappingproxy": "dict",
    "collections.OrderedDict": "dict",
    "collections.defaultdict": "dict",
    "collections.ChainMap": "dict",
    "collections.UserDict": "object",
    "collections.deque": "deque",
    "types.SimpleNamespace": "object",
    "module": "module",
    "type": "class",
    "function": "function",
    "method": "method",
    "builtin_function_or_method": "method",
    "method-wrapper": "method",
    "functools.partial": "partial",
    "functools._lru_cache_wrapper": "lru",
    "staticmethod": "wrapping",
    "classmethod": "wrapping",
    "property": "wrapping",
    "cell": "cell",
    "frame": "frame",
    "traceback": "traceback",
    "BaseException": "exception",
    "generator": "generator",
    "coroutine": "generator",
    "async_generator": "generator",
    "_asyncio.Task": "task",
    "asyncio.tasks.Task": "task",
    "_asyncio.Future": "future",
    "asyncio.futures.Future": "future",
    "concurrent.futures._base.Future": "future",
    "concurrent.futures.thread._WorkItem": "work",
    "concurrent.futures.process._WorkItem": "work",
    "asyncio.events.Handle": "loop",
    "_contextvars.Context": "context",
    "Context": "context",
    "hamt": "context",
    "hamt_array_node": "context",
    "hamt_bitmap_node": "context",
    "hamt_collision_node": "context",
    "weakref.WeakKeyDictionary": "weakdict",
    "torch.utils.weak.WeakIdKeyDictionary": "weakdict",
    "torch.utils.weak.WeakTensorKeyDictionary": "weakdict",
    "weakref.finalize": "finalizer",
    "weakref.finalize._Info": "finalizer",
    "weakref.ReferenceType": "weakref",
    "queue.Queue": "queue",
    "_queue.SimpleQueue": "queue",
    "asyncio.queues.Queue": "queue",
    "multiprocessing.queues.Queue": "sender",
    "multiprocessing.queues.SimpleQueue": "queue",
    "logging.LogRecord": "logrecord",
    "logging.Handler": "loghandler",
    "logging.Logger": "logger",
    "PyCapsule": "capsule",
    "threading.Thread": "thread",
    "greenlet.greenlet": "greenlet",
    "_thread._local": "threadlocal",
    "_thread._localdummy": "threadlocal",
    "itertools.cycle": "cycle",
    "itertools._tee": "cycle",
    "itertools._tee_dataobject": "cycle",
    "_io.BytesIO": "memoryfile",
    "_io.StringIO": "memoryfile",
    "_io.BufferedRandom": "openfile",
    "_io.BufferedReader": "openfile",
    "_io.BufferedWriter": "openfile",
    "_io.FileIO": "openfile",
    "_io.TextIOWrapper": "openfile",
    "socket.socket": "openfile",
    "ssl.SSLSocket": "openfile",
    "contextlib._BaseExitStack": "exitstack",
    "unittest.mock.NonCallableMock": "mock",
    "unittest.mock._Call": "mock",
    "unittest.mock._CallList": "mock",
    "numpy.ndarray": "array",
    "memoryview": "array",
    "IPython.core.displayhook.DisplayHook": "session",
    "IPython.core.interactiveshell.InteractiveShell": "session",
    "IPython.core.history.HistoryManager": "session",
    "torch._C.TensorBase": "tensor",
    "torch.TensorImpl": "tensor",
    "gradlife._engine.Tensor": "tensor",
    "torch.UntypedStorage": "storage",
    "torch.StorageBase": "storage",
    "torch.storage.UntypedStorage": "storage",
    "torch.storage.TypedStorage": "storage",
    "torch.autograd.function.FunctionCtx": "ctx",
    "torch._C._FunctionBase": "ctx",
    "torch.autograd.graph.GradientEdge": "edge",
    "torch.autograd.graph.Node": "node",
    "torch._C._autograd.SavedTensor": "slot",
    "torch._C._autograd.saved_tensor": "slot",
    "torch.nn.modules.module.Module": "nn",
    "torch.utils.hooks.BackwardHook": "modulehook",
    "torch.utils.hooks.RemovableHandle": "handle",
    "torch.optim.optimizer.Optimizer": "optimizer",
    "torch.optim.lr_scheduler.LRScheduler": "scheduler",
    "torch.amp.grad_scaler.GradScaler": "scaler",
    "torch.fx.graph_module.GraphModule": "fx",
    "torch.fx.": "fx",
    "torch.jit.": "script",
    "torch.ScriptModule": "script",
    "torch.ScriptFunction": "script",
    "torch._dynamo.": "compiler",
    "torch._inductor.": "compiler",
    "torch._functorch.": "compiler",
    "torch._export.": "compiler",
    "torch.utils.checkpoint.": "checkpoint",
    "torch.utils.data.dataloader._BaseDataLoaderIter": "loader",
    "torch.utils.data.dataloader._SingleProcessDataLoaderIter": "loader",
    "torch.utils.data.dataloader._MultiProcessingDataLoaderIter": "loader",
    "torch.utils.data.": "data",
    "torch.multiprocessing.": "sharing",
    "torch.cuda.": "device",
    "torch._C._CudaStreamBase": "device",
    "torch.distributed.distributed_c10d.ProcessGroup": "processgroup",
    "torch._C._distributed_c10d.ProcessGroup": "processgroup",
    "torch.distributed.checkpoint.staging.": "stager",
    "torch.distributed.checkpoint._state_dict_stager.": "stager",
    "torch.distributed.distributed_c10d.": "distributed",
    "torch._C._distributed_c10d.": "distributed",
    "torch._C._distributed_rpc.PyRRef": "rref",
    "torch._C.Future": "distributed",
    "torch.Future": "distributed",
    "torch.profiler.": "profiler",
    "torch.autograd.profiler": "profiler",
}

ROOTS = {"running frame": "running", "interpreter": "interpreter", "thread": "threadstate", "process": "process"}

#: Attributes with a meaning in the framework or library whose type has them. Other attributes are the program's
#: own, and no pattern depends on them.
NAMES: dict[str, frozenset[str]] = {
    "nn": frozenset(
        {
            "_parameters",
            "_buffers",
            "_modules",
            "_forward_hooks",
            "_forward_pre_hooks",
            "_backward_hooks",
            "_backward_pre_hooks",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        }
    ),
    "optimizer": frozenset(
        {
            "state",
            "param_groups",
            "_optimizer_step_pre_hooks",
            "_optimizer_step_post_hooks",
            "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        }
    ),
    "scheduler": frozenset({"optimizer"}),
    "ctx": frozenset({"run_function", "saved_tensors", "to_save"}),
    "weakdict": frozenset({"data"}),
    "queue": frozenset({"queue", "_queue"}),
    "sender": frozenset({"_buffer"}),
    "logger": frozenset({"handlers", "filters"}),
    "loghandler": frozenset({"buffer", "queue", "records", "filters"}),
    "logrecord": frozenset({"args", "msg", "exc_info"}),
    "thread": frozenset({"_target", "_args", "_kwargs"}),
    "mock": frozenset({"call_args", "call_args_list", "mock_calls", "method_calls", "_mock_children"}),
    "future": frozenset({"_result", "_exception"}),
    "loader": frozenset({"_task_info", "_data_queue"}),
}


#: Families whose objects keep what they are for under `NAMES` or as items: another attribute of a program's class is like
#: one of any object.
PLAIN_ATTRIBUTES = frozenset(
    {
        "array",
        "data",
        "deque",
        "dict",
        "distributed",
        "future",
        "list",
        "logger",
        "loghandler",
        "memoryfile",
        "openfile",
        "queue",
        "scheduler",
        "sender",
        "set",
        "task",
        "tuple",
        "weakdict",
    }
)

#: The Python wrapper of a grad node has no module in its name.
NODE_FACE = re.compile(r"[A-Z]\w*Backwards?\d*|AccumulateGrad|CopySlices|GraphRoot")


def family_of(type_: str, bases: tuple[str, ...] = (), kind: str = "python") -> str:
    """Return the family of an object: of its type, or of its first base that has one."""
    if kind != "python":
        native = {"root": ROOTS.get(type_, "root"), "tensor": "tensor", "storage": "storage", "grad_node": "node"}
        return native.get(kind, "native")
    if NODE_FACE.fullmatch(type_):
        return "node"
    found = (FAMILIES.get(name) or family_of_package(name) for name in (type_, *bases))
    return next(filter(None, found), "torch" if type_.startswith("torch.") else "object")


def is_of_library(type_: str) -> bool:
    """Whether a type is one of Python or PyTorch, not of a program or another library."""
    package, _, name = type_.partition(".")
    return not name or package == "torch" or package in sys.stdlib_module_names


def family_of_package(name: str) -> str:
    """Return the family of a type's innermost package that has one."""
    parts = name.split(".")
    heads = (".".join(parts[:length]) + "." for length in range(len(parts) - 1, 0, -1))
    return next((FAMILIES[head] for head in heads if head in FAMILIES), "")
