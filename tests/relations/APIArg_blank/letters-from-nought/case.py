# SPDX-License-Identifier: Apache-2.0
"""Two scripts align letters with frames, one with nought as blank and labels one behind the other, one with the last class and rows that are filled
up. In the broken runs a letter has the blank's number. Rows that are filled up with the blank are right."""
from trace_writer import Trace


PIPELINES = 2


def labels(t, shape, **summary):
    return t.tensor(*shape, dtype="int64") | {"digest": "77", "summary": {"distinct": 8, "negative": 0, **summary}}


def train(folder, blank=0, shape=(40,), zero=0, least=1, most=8, shortest=3):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.nn.functional.ctc_loss", at="train.py:8", value=t.tensor(), args={
            "log_probs": t.tensor(20, 8, 9) | {"requires_grad": True}, "targets": labels(t, shape, zero=zero, one=4, min=least, max=most),
            "input_lengths": labels(t, [8], zero=0, one=0, min=9, max=20),
            "target_lengths": labels(t, [8], zero=0, one=0, min=shortest, max=5), "blank": blank, "reduction": "mean"})
    t.end()


def healthy(folder, i):
    train(folder, blank=8 * i, shape=[(40,), (8, 5)][i], zero=4 * i, least=1 - i, most=8 - i)


def fine_that_is_filled_up(folder):
    train(folder, shape=(8, 5), zero=16, least=0)


def broken(folder):
    train(folder, zero=4, least=0)


def broken_in_rows(folder):
    train(folder, shape=(8, 5), zero=17, least=0)


def broken_last(folder):
    train(folder, blank=8)
