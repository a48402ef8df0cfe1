# SPDX-License-Identifier: Apache-2.0
"""Four scripts whose batches differ. In the broken run two workers give the same stream, so that each batch comes twice. Another pass over the same
iterator begins anew; a stream may begin again; one batch alone may be trained on; and short ones are equal by chance."""
from trace_writer import Trace

PIPELINES = 4


def batch(t, content, n=16):
    value = [t.tensor(n, 4) | {"digest": f"{content:016x}"}, t.tensor(n, dtype="int64")]
    t.op("torch.utils.data.DataLoader.__next__", role="data", at="train.py:8",
         self={"object": "torch.utils.data._MultiProcessingDataLoaderIter", "id": 700, "attrs": {}}, value=value)


def run(folder, contents, ends=(), **more):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i, content in enumerate(contents):
        if i in ends:
            t.enter("torch.utils.data.DataLoader.__next__", role="data",
                    self={"object": "torch.utils.data._MultiProcessingDataLoaderIter", "id": 700, "attrs": {}})
            t.throw("StopIteration")
        batch(t, content, **more)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder, i):
    run(folder, [10 * i + k for k in range(1, 7)])


def fine_passes(folder):
    run(folder, [1, 2, 3] * 4, ends=(3, 6, 9))


def fine_cycle(folder):
    """A stream that begins again without an end."""
    run(folder, [1, 2, 3] * 4)


def fine_one_batch(folder):
    run(folder, [1] * 8)


def fine_short(folder):
    run(folder, [1, 1, 2, 2, 3, 3, 4, 4], n=3)


def broken(folder):
    run(folder, [1, 1, 2, 2, 3, 3, 4, 4])
