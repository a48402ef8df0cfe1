"""Of ten scripts on two ranks the seven that draw from a sampler tell it the epoch; only those are asked to."""
from trace_writer import Trace

PIPELINES = 10
SAMPLER = "torch.utils.data.DistributedSampler"


def train(folder, samples, tells):
    t = Trace(folder, rank=0, world=2)
    model = t.net("w")
    optimizer = t.optimizer(model)
    if tells:
        t.call(f"{SAMPLER}.set_epoch", role="library", at="train.py:8")
    t.enter("torch.utils.data.DataLoader.__next__", at="train.py:9")
    if samples:
        t.call(f"{SAMPLER}.__iter__", role="library")
    t.leave()
    t.forward(model)
    t.step(optimizer, changes=[])
    t.cut()
    t.end()


def healthy(folder, i):
    train(folder, samples=i < 7, tells=i < 7)


def fine(folder):
    train(folder, samples=False, tells=False)


def broken(folder):
    train(folder, samples=True, tells=False)
