"""zero_grad after the step clears as well: windows of another script, another order."""
from trace_writer import Trace


def train(folder, zero_grad_last):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        if not zero_grad_last:
            t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if zero_grad_last:
            t.zero_grad(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, zero_grad_last=True)


def broken(folder):
    """Learned from a loop with zero_grad last, this one is of another order."""
    train(folder, zero_grad_last=False)
