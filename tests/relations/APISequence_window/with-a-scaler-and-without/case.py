"""The order around a scaler is known of scripts that have one, that of backward and step of all: neither makes the other superfluous."""
from trace_writer import Trace

PIPELINES = 8


def train(folder, scales, forgets_in=None, **kwargs):
    t = Trace(folder, **kwargs)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(3):
        t.zero_grad(optimizer)
        t.forward(model)
        if i != forgets_in:
            t.backward(model)
        if scales:
            t.unscale()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    """Those without a scaler run on several ranks as well: the others know only one."""
    if i < 4:
        train(folder, scales=True)
    else:
        train(folder, scales=False, rank=0, world=2)


def broken(folder):
    train(folder, scales=False, forgets_in=1, rank=0, world=2)
