"""A second interpreter in the process cannot import the engine: it gets an error, and takes nothing from the first."""

from __future__ import annotations

from leftovers import run_script

BEGINNING = """
import sys, warnings
warnings.simplefilter("ignore")
try:
    from _xxsubinterpreters import create, destroy, run_string
except ImportError:
    from _interpreters import create, destroy
    from _interpreters import exec as run_string

ASKING = '''
try:
    import gradlife.engine
except ImportError as error:
    print("refused:", str(error).splitlines()[0], flush=True)
else:
    print("worked:", gradlife.engine.ones(2).sum().item(), flush=True)
'''

def ask():
    other = create()
    run_string(other, ASKING)
    destroy(other)
"""
FIRST = """
import gradlife.engine as torch
x = torch.ones(2, requires_grad=True)
y = (x * 2).sum()
"""


def output_of(text: str) -> list[str]:
    done = run_script(BEGINNING + text)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_beside_a_first_interpreter_that_has_the_engine_it_is_refused() -> None:
    refused, again, gradient = output_of(FIRST + "ask(); ask(); y.backward(); print(x.grad.tolist())")
    assert refused.startswith("refused:")
    assert again == refused
    assert gradient == "[2.0, 2.0]"


def test_before_the_first_interpreter_has_the_engine_nothing_crashes() -> None:
    answer, gradient = output_of("ask()\n" + FIRST + "y.backward(); print(x.grad.tolist())")
    assert answer.startswith("refused:")
    assert gradient == "[2.0, 2.0]"


def test_other_paths_to_a_second_interpreter_do_not_crash() -> None:
    done = run_script(
        "import _testcapi\n" + FIRST + "_testcapi.run_in_subinterp('import gradlife.engine')\ny.backward()"
    )
    assert done.returncode == 0 or "No module named '_testcapi'" in done.stderr


RECORDED = """
from gradlife import _heap

THERE = '''
class Thing:
    __slots__ = ("content",)

def make_there():
    return Thing()

kept = [make_there() for _ in range(100)]
'''

class Thing:
    __slots__ = ("content",)

def make_here():
    return Thing()

_heap.start_recording((), (), (), None)
_heap.want_type(Thing)
other = create()
run_string(other, THERE)
kept = [make_here() for _ in range(100)]
stacks = str(_heap.recorded()[3])
_heap.stop_recording()
destroy(other)
print("make_here" in stacks, "make_there" in stacks)
"""


def test_creations_in_an_interpreter_that_is_made_later_are_not_recorded() -> None:
    """From Python 3.12 on it may run at the same time, with a lock of its own."""
    assert output_of(RECORDED) == ["True False"]
