"""The five states again, in the mini engine's own log, which a real release does not have."""

from gradlife.scenario import Expect, scenario

FLIPPED = "impl owns wrapper"
HANDED_BACK = "wrapper owns impl"
STATES = ("1 first return", "2 second return", "3 attempted death", "4 returned again", "5 final death")


def log_of(on, because, *states):
    """One expectation a state: the events of the tensor and its wrapper in it."""
    return [Expect(STATES[i], list(events), probe="value", on=on, because=because) for i, events in enumerate(states)]


@scenario(
    title="the five states of a wrapper, in the engine's log",
    origin=["Oneflow-Inc/oneflow#9500", "Oneflow-Inc/oneflow#9544", "pytorch/pytorch#56017", "pytorch/pytorch#167564"],
    needs="engine",
    expects=[
        *log_of(
            "torch<1.10 oneflow-0.8",
            "a borrowed pointer: the wrapper dies with its last name and another is made",
            ["wrapped"],
            [],
            ["dropped"],
            ["wrapped"],
            ["dropped", "destroyed"],
        ),
        *log_of(
            "oneflow-0.9",
            "ownership flips, and the wrapper's own pointer is emptied while the impl owns it",
            ["wrapped"],
            [],
            ["resurrected: data emptied", "flipped: " + FLIPPED],
            ["flipped: " + HANDED_BACK],
            ["resurrected: data emptied", "flipped: " + FLIPPED, "destroyed"],
        ),
        *log_of(
            "torch>=1.10,<2.10",
            "ownership flips, and the wrapper's own pointer only borrows while the impl owns it",
            ["wrapped"],
            [],
            ["resurrected: data borrowed", "flipped: " + FLIPPED],
            ["flipped: " + HANDED_BACK],
            ["resurrected: data borrowed", "flipped: " + FLIPPED, "destroyed"],
        ),
        *log_of(
            "torch>=2.10",
            "coupled counts: no flip and no resurrection, the wrapper's count never reaches zero before the end",
            ["wrapped"],
            [],
            [],
            [],
            ["dropped", "destroyed"],
        ),
    ],
)
def five_states_in_the_log(lab):
    """What happens inside, at each of the five states of `five_states_of_a_wrapper`.

    1 *First return*: the gradient gets its wrapper (`wrapped`).
    2 *Second return*: nothing happens but a count; the living wrapper is found.
    3 *Attempted death*: the last name goes. Borrowed pointer: the wrapper dies (`dropped`). Flipping ownership: the
      death is called off (`resurrected`) and the impl becomes the owner (`flipped`). Coupled counts: nothing.
    4 *Returned again*: the impl hands its reference back (`flipped`), or another wrapper is made (`wrapped`).
    5 *Final death*: here the name goes first, so where ownership flips it flips once more; then x drops the impl,
      and wrapper and impl go together (`destroyed` is the impl's end; `dropped` is logged where Python let the
      wrapper go).

    The `data` that the proposal empties is what makes OneFlow 0.9's wrapper useless while C++ owns it, and what
    made PyTorch's (which only borrows there) useless once C++ let go: see `emptied_wrapper`.
    """
    fw = lab.fw
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    seen = [fw.events()[-1].seq]

    def tell(state):
        new = [event for event in fw.events() if event.seq > seen[0] and event.object_kind == "tensor"]
        seen[0] = max([seen[0]] + [event.seq for event in new])
        lab.value(state, [event.kind + (": " + event.detail if event.detail else "") for event in new])

    grad = x.grad
    tell("1 first return")
    again = x.grad
    tell("2 second return")
    del again, grad
    tell("3 attempted death")
    grad = x.grad
    tell("4 returned again")
    del grad
    x.grad = None
    tell("5 final death")
    lab.stage("told")
