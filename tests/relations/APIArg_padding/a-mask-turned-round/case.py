# SPDX-License-Identifier: Apache-2.0
"""What fills rows up is left out. In the broken run the mask is true where words are. Rows that are filled up at the left may all be, at times."""
from trace_writer import Trace


def train(folder, columns):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for first, last in columns:
        ends = {k: v for k, v in (("first", first), ("last", last)) if v is not None}
        mask = t.tensor(8, 6, dtype="bool") | {"summary": {"true": 9, "false": 39, **ends}}
        t.op("torch.nn.TransformerEncoder.forward", role="layer", at="train.py:8", args={"src": t.tensor(8, 6, 4), "src_key_padding_mask": mask})
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, [(False, None), (False, True), (False, None), (False, False)])


def healthy_at_the_left(folder):
    train(folder, [(None, False), (True, False), (True, False), (True, False), (True, False)])


def fine_two(folder):
    train(folder, [(True, False), (True, False), (None, False)])


def broken(folder):
    train(folder, [(True, False)] * 5)
