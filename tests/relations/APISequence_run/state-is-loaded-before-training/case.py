"""The model's state is loaded before its first forward; one run is enough evidence."""
from trace_writer import Trace

LOAD = "torch.nn.Module.load_state_dict"


def train(folder, loads=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    if loads:
        t.call(LOAD, role="load", at="train.py:3")
    for _ in range(2):
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, loads=False)
