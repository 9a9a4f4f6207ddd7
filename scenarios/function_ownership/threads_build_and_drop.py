"""Many small graphs built, differentiated and dropped in several threads at once."""

import threading

from gradlife.scenario import Expect, scenario


class Life:
    """Counts those that are alive."""

    def __init__(self, alive, lock):
        self.alive = alive
        self.lock = lock
        with lock:
            alive.append(None)

    def __del__(self):
        with self.lock:
            self.alive.pop()


@scenario(
    title="Four threads build and drop graphs",
    origin=["pytorch/pytorch#16532", "pytorch/pytorch#22983"],
    expects=[
        Expect("wrong gradients of 40", 0, probe="value", because="the threads share a class, and no node"),
        Expect(
            "contexts left", 0, probe="value", because="each graph went with its output, whichever thread ran backward"
        ),
    ],
)
def threads_build_and_drop(lab):
    """Each of four threads: two nodes side by side, one behind them, backward, drop; ten times.

    The nodes' ctx objects are Python, their edges C++: every step of building and freeing a graph crosses the interpreter
    lock. An engine that asked a reference count without holding the lock, and acted on the answer, would lose a node (a
    wrong gradient) or keep one (a ctx left). This is the race that the first fix of issue 16532 was feared to leave open;
    no release shows it.
    """
    alive, lock, wrong = [], threading.Lock(), []

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.life = Life(alive, lock)
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * (y / x)

    def work():
        for _ in range(10):
            x = lab.tensor(requires_grad=True)
            Double.apply(Double.apply(x) + Double.apply(x)).sum().backward()
            if x.grad.tolist() != [8.0] * 4:
                wrong.append(x.grad.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lab.collect()
    lab.value("wrong gradients of 40", len(wrong))
    lab.value("contexts left", len(alive))
    lab.stage("threads ended")
