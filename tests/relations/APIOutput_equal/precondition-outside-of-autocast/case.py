"""What the script's own method returns has the dtype of the input where no autocast turns it into another."""
from trace_writer import Trace


def train(folder, turned=False):
    t = Trace(folder)
    for autocast in (False, True):
        t.ctx = {"autocast": {"cuda": "bfloat16"}} if autocast else None
        for _ in range(3):
            t.op("train.Net.mix", role="method", at="train.py:9", args={"input": t.tensor(8, 4)},
                 value=t.tensor(7, 2, dtype="bfloat16" if autocast or turned else "float32"))
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, turned=True)
