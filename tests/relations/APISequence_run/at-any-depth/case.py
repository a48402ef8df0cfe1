"""A call inside another counts, a call that raised or that torch's constructors made does not."""
from trace_writer import Trace


def train(folder, seeds=True):
    t = Trace(folder)
    t.schedule(by="torch")
    t.enter("torch.nn.Module.load_state_dict", role="load")
    t.throw()
    t.enter("torch.hub.load", role="load", at="train.py:2")
    if seeds:
        t.call("torch.nn.Module.eval", role="mode")
    t.leave()
    t.call("torch.nn.utils.clip_grad_norm_", at="train.py:4")
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, seeds=False)
