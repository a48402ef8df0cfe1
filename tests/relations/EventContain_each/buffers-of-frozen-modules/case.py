"""The statistics of a module whose parameters are frozen stay, whatever those of trained modules do."""
from trace_writer import Trace


def train(folder, drifts=False):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"base.w": {"requires_grad": False}, "base.mean": {"kind": "buffer"},
                              "head.w": {}, "head.mean": {"kind": "buffer"}})
    optimizer = t.optimizer(model, params=[model.var("head.w")])
    for _ in range(6):
        t.zero_grad(optimizer)
        t.forward(model, changes=["head.mean", "base.mean"] if drifts else ["head.mean"])
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drifts=True)
