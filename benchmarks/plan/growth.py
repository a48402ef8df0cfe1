#!/usr/bin/env python3
"""How the time and memory of traincheck-check --plan grow with layers and ranks.

usage: growth.py --bin BUILD/bin [--jobs N] [TPxDPxLAYERS...]     default 2x1x1 ... 8x1024x1

Each layer is x + gelu(x @ A) @ B with A split by columns and B by rows over tp, forward, backward, all-reduces over
tp and dp, and SGD. One rank of each tp position is written out; its copies along dp are retargeted (`like`). No torch.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

WIDTH, ROWS = 24, 3  # of x; ROWS for each dp rank
INNER = 40           # of A, for each tp rank

DEFAULT = ["2x1x1", "2x1x4", "2x1x16", "2x1x64", "2x1x126", "8x1x1", "8x8x1", "8x64x1", "8x512x1", "8x1024x1", "8x64x8"]


class Program:
    """Lines of one rank; every value is a storage of its own."""

    def __init__(self, tp, dp, t, single):
        self.tp, self.dp, self.t = tp, dp, t
        self.rows = ROWS * dp if single else ROWS
        self.inner = INNER * tp if single else INNER
        self.single, self.lines, self.n = single, [], 0

    def tensor(self, *sizes):
        self.n += 1
        return ["t", self.n - 1, 0, list(sizes), [sizes[1], 1], "float32"]

    @staticmethod
    def turned(t):
        return t[:3] + [t[3][::-1], t[4][::-1], t[5]]

    def op(self, name, line, out, /, **args):
        self.lines.append({"op": name, "a": args, "out": [out], "src": [f"train.py:{line}, in step", ""]})
        return out

    def mm(self, a, b, line):
        return self.op("aten.mm.default", line, self.tensor(a[3][0], b[3][1]), self=a, mat2=b)

    def reduce(self, t, group, line):
        if not self.single and len(group) > 1:
            self.op("c10d.allreduce_.default", line, t, tensors=[t], process_group=["pg", group], reduce_op="sum")

    def place(self, shape, dim):
        at = [0, 0]
        if not self.single and dim is not None:
            at[dim] = self.t * INNER
        return {"global": [s * (self.tp if d == dim and not self.single else 1) for d, s in enumerate(shape)], "at": at}

    def layers(self, n):
        tp_group, dp_group = list(range(self.tp)), [self.t + self.tp * k for k in range(self.dp)]
        x = self.tensor(self.rows, WIDTH)
        self.lines.append({"init": "input", "name": "x", "t": x, "global": [ROWS * self.dp, WIDTH], "at": [0, 0]})
        saved = []
        for i in range(n):
            a, b = self.tensor(WIDTH, self.inner), self.tensor(self.inner, WIDTH)
            for name, t, dim in ((f"layers.{i}.a", a, 1), (f"layers.{i}.b", b, 0)):
                self.lines.append({"init": "param", "name": name, "t": t} | self.place(t[3], dim))
            saved.append([x, a, b])
        for layer in saved:
            x_in, a, b = x, layer[1], layer[2]
            h = self.mm(x_in, a, 10)
            r = self.op("aten.gelu.default", 11, self.tensor(*h[3]), self=h)
            y = self.mm(r, b, 12)
            self.reduce(y, tp_group, 13)
            x = self.op("aten.add.Tensor", 14, self.tensor(*y[3]), self=x_in, other=y)
            layer[0] = (x_in, h, r)
        g = x
        for i, ((x_in, h, r), a, b) in reversed(list(enumerate(saved))):
            gb, gr = self.mm(self.turned(r), g, 20), self.mm(g, self.turned(b), 21)
            gh = self.op("aten.gelu_backward.default", 22, self.tensor(*gr[3]), grad_output=gr, self=h)
            ga, gx = self.mm(self.turned(x_in), gh, 23), self.mm(gh, self.turned(a), 24)
            self.reduce(gx, tp_group, 25)
            g = self.op("aten.add.Tensor", 26, self.tensor(*gx[3]), self=g, other=gx)
            for name, p, grad, dim in ((f"layers.{i}.a", a, ga, 1), (f"layers.{i}.b", b, gb, 0)):
                self.reduce(grad, dp_group, 27)
                self.op("aten.add_.Tensor", 28, p, self=p, other=grad, alpha=-0.5)
                self.lines.append({"result": name, "t": p} | self.place(p[3], dim))
        return self.lines


def mesh(rank, tp, dp):
    t, d = rank % tp, rank // tp
    axes = (("dp", [t + tp * k for k in range(dp)]), ("tp", [d * tp + k for k in range(tp)]))
    return [{"name": name, "ranks": ranks} for name, ranks in axes if len(ranks) > 1]


def write(folder, tp, dp, layers):
    for name in ("single", "parallel"):
        (folder / name).mkdir()
    with open(folder / "single/plan-rank00000.jsonl", "w") as f:
        lines = [{"plan": 1, "rank": 0, "world": 1, "mesh": []}, *Program(tp, dp, 0, True).layers(layers)]
        f.writelines(json.dumps(line) + "\n" for line in lines)
    with open(folder / "parallel/plan-all.jsonl", "w") as f:
        for rank in range(tp * dp):
            head = {"plan": 1, "rank": rank, "world": tp * dp, "mesh": mesh(rank, tp, dp)}
            if rank < tp:
                lines = [head, *Program(tp, dp, rank, False).layers(layers)]
            else:
                x = {"init": "input", "name": "x", "t": ["t", 0, 0, [ROWS, WIDTH], [WIDTH, 1], "float32"],
                     "global": [ROWS * dp, WIDTH], "at": [ROWS * (rank // tp), 0]}
                lines = [head | {"like": rank % tp}, x]
            f.writelines(json.dumps(line) + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("layout", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    print("tp   dp    layers  ranks  operators   seconds  us/operator/seed  peak MB (so far)")
    for layout in options.layout:
        tp, dp, layers = map(int, layout.split("x"))
        with tempfile.TemporaryDirectory() as temp:
            folder = pathlib.Path(temp)
            write(folder, tp, dp, layers)
            run = subprocess.run([options.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                                  folder / "single", "-o", folder / "out", "--json", "-j", options.jobs,
                                  "--no-html-report", "-q"], capture_output=True, text=True)
            if run.returncode:
                sys.exit(f"{layout}: {run.stdout}{run.stderr}")
            said = json.loads(run.stdout.splitlines()[-1])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        cost = said["seconds"] / said["operators"] / said["seeds"] * 1e6
        print(f"{tp:<4} {dp:<5} {layers:<7} {tp * dp:<6} {said['operators']:<11} {said['seconds']:<8.2f} "
              f"{cost:<17.2f} {peak:.0f}", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
