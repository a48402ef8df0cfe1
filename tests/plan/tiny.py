#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A linear layer split by rows over two ranks, as plans written by hand: no torch needed.

usage: tiny.py DIR [BUG]     writes DIR/single and DIR/parallel

y = x @ w, loss gradient g = y, w.grad = x.T @ g. Rank r has half of x's columns and half of w's rows; an all-reduce
sums the partial products. BUG: no_reduce, twice, mismatch, deadlock, unread, unknown, unknown_part, undefined, missing; or
sizes that weaken the proof: square, slim.
"""

import json
import pathlib
import sys

B = 3


def tensor(storage, sizes, strides=None, dtype="float32"):
    if strides is None:
        strides = [1] * len(sizes)
        for d in reversed(range(len(sizes) - 1)):
            strides[d] = strides[d + 1] * sizes[d + 1]
    return ["t", storage, 0, list(sizes), list(strides), dtype]


def op(name, args, out, line, node=""):
    return {"op": name, "a": args, "out": out, "src": [f"train.py:{line}, in step", node]}


def plan(rank, world, bug):
    I, O = {"square": (4, 4), "slim": (2, 5)}.get(bug, (4, 5))
    half = I // world
    x, w, y = tensor(0, [B, half]), tensor(1, [half, O]), tensor(2, [B, O])
    grad = tensor(3, [half, O])
    x_turned = tensor(0, [half, B], [1, half])
    pg = ["pg", list(range(world))]
    mesh = [{"name": "tp", "ranks": list(range(world))}] if world > 1 else []
    lines = [{"plan": 1, "rank": rank, "world": world, "mesh": mesh, "script": "train.py"},
             {"init": "input", "name": "x", "t": x, "global": [B, I], "at": [0, half * rank]},
             {"init": "param", "name": "w", "t": w, "global": [I, O], "at": [half * rank, 0]}]
    lines.append(op("aten.mm.default", {"self": x, "mat2": w}, [y], 10))
    if bug == "unknown_part":
        lines.append(op("aten.foo.default", {"self": y}, [y], 10))
    reduce = op("c10d.allreduce_.default", {"tensors": [y], "process_group": pg, "reduce_op": "sum"}, [y], 11)
    if world > 1:
        if bug == "mismatch" and rank == 1:
            reduce = op("c10d.broadcast_.default", {"tensors": [y], "process_group": pg, "root_rank": 0}, [y], 12)
        if bug != "no_reduce" and not (bug == "deadlock" and rank == 1):
            lines += [reduce] * (2 if bug == "twice" else 1)
    if bug == "unread" and world > 1 and rank == 0:
        lines.append(op("c10d.send.default", {"tensors": [y], "process_group": pg, "dst": 1, "tag": 0}, [], 12))
    if bug == "unknown":
        lines.append(op("aten.foo.default", {"self": y}, [y], 13))
    if bug == "undefined" and world > 1:
        y = tensor(9, [B, O])
    lines.append(op("aten.mm.default", {"self": x_turned, "mat2": y}, [grad], 14, "MmBackward0"))
    if not (bug == "missing" and rank == 1):
        lines.append({"result": "w.grad", "t": grad, "global": [I, O], "at": [half * rank, 0]})
    return lines


def main():
    folder = pathlib.Path(sys.argv[1])
    bug = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, world in (("single", 1), ("parallel", 2)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for rank in range(world):
            with open(folder / name / f"plan-rank{rank:05d}.jsonl", "w") as f:
                f.writelines(json.dumps(line) + "\n" for line in plan(rank, world, bug))


if __name__ == "__main__":
    main()
