"""The program that describes an interpreter and its framework, run by `-c`. It also runs on Python 2.

Arguments: the descriptor for answers, and the framework's module, or empty to list the installed frameworks. Each
answer is a JSON object on one line.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import json
import os
import platform
import sys

#: The frameworks that gradlife has stories for.
FRAMEWORKS = ("torch", "oneflow")

#: Most characters of an error's text.
TEXT_LIMIT = 400


def interpreter_facts():
    """Return the facts about this interpreter."""
    import sysconfig

    return {
        "python": platform.python_version(),
        "version": list(sys.version_info[:2]),
        "implementation": platform.python_implementation(),
        "platform": " ".join((platform.system(), platform.machine())),
        "abi": str(sysconfig.get_config_var("SOABI")),
    }


def frameworks_there():
    """Return the frameworks that could be imported, without importing one."""
    import importlib.util

    return [name for name in FRAMEWORKS if importlib.util.find_spec(name) is not None]


def framework_facts(module):
    """Import a framework and return its name and version."""
    try:
        __import__(module)
        fw = sys.modules[module]
        return {"framework": own_name(fw), "version": str(getattr(fw, "__version__", "")), "threads": thread_count()}
    except BaseException as error:
        there = frameworks_there() if getattr(error, "name", None) == module else [module]
        text = " ".join(": ".join((type(error).__name__, str(error))).split())
        return {"error": text[:TEXT_LIMIT], "there": there}


def thread_count():
    """Return the number of threads of this process, if the system knows it."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def own_name(fw):
    """Return the framework's own name: a stand-in (`oneflow.mock_torch`) keeps it, or its tensors do."""
    tensor_of = str(getattr(getattr(fw, "Tensor", None), "__module__", "")).partition(".")[0]
    return tensor_of if tensor_of in FRAMEWORKS else str(fw.__name__).partition(".")[0]


def answer(descriptor, module):
    """Answer both questions."""
    tell(descriptor, interpreter_facts())
    if sys.version_info >= (3, 7):  # noqa: UP036 (older ones print that they are too old)
        tell(descriptor, framework_facts(module) if module else {"there": frameworks_there()})


def tell(descriptor, facts):
    """Write one answer and flush it."""
    os.write(descriptor, (json.dumps(facts) + "\n").encode("ascii"))


if __name__ == "__main__":
    answer(int(sys.argv[1]), sys.argv[2])
