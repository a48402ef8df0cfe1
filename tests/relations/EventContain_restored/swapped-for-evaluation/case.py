"""A script that writes to the weights after every step (a clamp) swaps others in for evaluations, and back."""
from trace_writer import Trace


def train(folder, restores=(True,) * 4):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for is_restored in restores:
        t.train_step(model, optimizer)
        t.change(model.var("w"))
        t.train_step(model, optimizer)
        before = [v.digest for v in model.parameters]
        for v in model.parameters:
            t.change(v)
        t.evaluate(model)
        for v, digest in zip(model.parameters, before):
            if is_restored:
                t.set(v, data=digest)
    t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, restores=(True, True, False, True))
