"""What comes first now and then comes first nowhere; what two pipelines of nine do without is no rule either."""
from trace_writer import Trace

PIPELINES = 9


def healthy(folder, i):
    t = Trace(folder)
    if i % 2:
        t.call("torch.nn.Module.train")
        t.unscale()
    else:
        t.unscale()
        t.call("torch.nn.Module.train")
    t.clip()
    t.end()
