# SPDX-License-Identifier: Apache-2.0
"""Two ranks share 64 rows in each of three passes. In the broken run each draws an order of its own and takes half of it. Right are halves of one order, ranks
that each go through all rows, ranks that work at the same rows, rows that are drawn with replacement, and one pass."""
import random

from trace_writer import Trace

RULE = True
ROWS = 64
LOADER = "torch.utils.data.DataLoader.__next__"


def run(folder, mine, passes=3):
    for rank in range(2):
        t = Trace(folder, rank=rank, world=2, file=f"trace_host_r{rank}_p{rank + 1}.jsonl", pid=rank + 1, content="batches")
        model = t.net("w")
        optimizer = t.optimizer(model)
        for number in range(passes):
            iterator = {"object": "torch.utils.data.DataLoader", "id": t.serial()}
            rows = mine(rank, number)
            for i in range(0, len(rows), 8):
                part = rows[i:i + 8]
                batch = t.tensor(len(part), 4) | {"digest": f"{hash((rank, number, i)) & 0xffffffffffffffff:016x}", "rows": "".join(f"{row:08x}" for row in part)}
                t.op(LOADER, at="train.py:10", self=iterator, value=batch)
                t.zero_grad(optimizer)
                t.forward(model, args={"input": batch})
                t.backward(model)
                t.step(optimizer)
                t.cut()
            t.enter(LOADER, at="train.py:10", self=iterator)
            t.throw("StopIteration")
        t.end()


def order(seed):
    rows = list(range(ROWS))
    random.Random(seed).shuffle(rows)
    return rows


def fine(folder):
    run(folder, lambda rank, number: order(number)[rank::2])


def fine_all_rows(folder):
    run(folder, lambda rank, number: order(10 * rank + number))


def fine_the_same(folder):
    run(folder, lambda rank, number: order(number))


def fine_with_replacement(folder):
    run(folder, lambda rank, number: random.Random(10 * rank + number).choices(range(ROWS), k=32))


def fine_one_pass(folder):
    run(folder, lambda rank, number: order(10 * rank + number)[rank::2], passes=1)


def broken(folder):
    run(folder, lambda rank, number: order(10 * rank + number)[rank::2])
