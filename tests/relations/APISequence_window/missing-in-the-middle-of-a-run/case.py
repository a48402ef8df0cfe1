"""From step 6 on zero_grad is missing: the first step, the count and no other step."""
from trace_writer import Trace


def train(folder, zero_grads):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(10):
        if i < zero_grads:
            t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, zero_grads=10)


def broken(folder):
    train(folder, zero_grads=6)
