"""With several pipelines an order is a rule once seven of them follow it."""
from trace_writer import Trace

PIPELINES = 6


def healthy(folder, i):
    t = Trace(folder)
    t.call("torch.nn.Module.train")
    t.clip()
    t.end()
