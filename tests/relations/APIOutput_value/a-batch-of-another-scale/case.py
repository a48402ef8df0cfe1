# SPDX-License-Identifier: Apache-2.0
"""How large the numbers of a batch are, and how many different words stand in one, also within a dict. Half as large is no other scale;
of four words, or of a batch of another size, nothing is said. In the broken run images are divided twice, and words that the vocabulary
does not know are one word: the first of these is reported, once, as all batches of the iterator follow from it."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, scales=(0.5, 0.52, 0.51, 0.5), distinct=(40, 41, 38, 40), rows=32):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    loader = t.serial()
    for rms, words in zip(scales, distinct):
        image, text, few = t.tensor(rows, 4), t.tensor(rows, 2, dtype="int64"), t.tensor(rows, 2, dtype="int64")
        image["scale"] = {"rms": rms, "min": -rms, "max": rms}
        text["summary"] = {"min": 0, "max": 99, "distinct": words, "negative": 0, "zero": 0, "one": 1}
        few["summary"] = {"min": 0, "max": 3, "distinct": 4 if words > 20 else 1, "negative": 0, "zero": 1, "one": 1}
        t.op("torch.utils.data.DataLoader.__next__", role="data", at="train.py:9", self={"object": "Iterator", "id": loader},
             value=[image, {"dict": {"text": text}}, few])
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, scales=(0.49, 0.5, 0.5, 0.6))


def fine_half_as_large(folder):
    train(folder, scales=(0.26,) * 4)


def broken(folder):
    train(folder, scales=(0.002,) * 4, distinct=(18, 17, 18, 18))
