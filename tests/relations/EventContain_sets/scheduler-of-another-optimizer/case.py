"""A scheduler that was built for another optimizer changes nothing that is in use. One may rest after a warm-up."""
from trace_writer import Trace


def train(folder, rates):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    group = t.settings(lr=0.1, momentum=0.9, nesterov=False)
    lr = 0.1
    for rate in rates:
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.schedule(group=group, **({} if rate == lr else {"lr": rate}))
        lr = rate
        t.cut()
    t.end()


def healthy(folder):
    train(folder, [0.1, 0.2, 0.3, 0.2, 0.1, 0.0])


def fine_that_rests(folder):
    train(folder, [0.1, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3])


def fine_that_ends_early(folder):
    train(folder, [0.1, 0.1])


def broken(folder):
    train(folder, [0.1] * 6)
