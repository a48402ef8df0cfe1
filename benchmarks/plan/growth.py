#!/usr/bin/env python3
"""How the time and memory of traincheck-check --plan grow with layers and ranks.

usage: growth.py --bin BUILD/bin [--jobs N] [TPxDPxLAYERS[xPP]...]     default 2x1x1 ... 8x1024x1

Each layer is x + gelu(x @ A) @ B with A split by columns and B by rows over tp, forward, backward, all-reduces over
tp and dp, and SGD. With PP the layers are the stages of a pipeline, with MICRO micro-batches in GPipe's order. One rank
of each stage and tp position is written out; its copies along dp are retargeted (`like`). No torch.
With --one-batch all of dp have the rows of the first, as after traincheck-collect --plan-ranks. With --broken the layer in the
middle lacks its forward all-reduce over tp: how long does it take to refute the plan and to say where? The layout of Llama 3 405B:

    growth.py --bin build/bin --one-batch 8x64x126x16
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

WIDTH, ROWS = 24, 3  # of x; ROWS for each dp rank and micro-batch
INNER = 40           # of A, for each tp rank
MICRO = 4            # micro-batches of a pipeline

DEFAULT = ["2x1x1", "2x1x4", "2x1x16", "2x1x64", "2x1x126", "8x1x1", "8x8x1", "8x64x1", "8x512x1", "8x1024x1", "8x64x8"]


class Layout:
    """Ranks of a job: tp varies fastest, then dp, then pp."""

    def __init__(self, tp, dp, layers, pp=1, one_batch=False):
        self.tp, self.dp, self.layers, self.pp, self.one_batch = tp, dp, layers, pp, one_batch
        self.world = tp * dp * pp
        self.micro = MICRO if pp > 1 else 1
        self.rows = ROWS if one_batch else ROWS * dp  # of the single device, for each micro-batch

    def groups(self, rank):
        t, d, p = rank % self.tp, rank // self.tp % self.dp, rank // self.tp // self.dp
        number = lambda p, d, t: (p * self.dp + d) * self.tp + t
        return {"pp": [number(k, d, t) for k in range(self.pp)], "dp": [number(p, k, t) for k in range(self.dp)],
                "tp": [number(p, d, k) for k in range(self.tp)]}

    def mesh(self, rank):
        return [{"name": name, "ranks": ranks} for name, ranks in self.groups(rank).items() if len(ranks) > 1]

    def stage(self, p):
        """Numbers of its layers: the first and the last stage have fewer where they do not divide."""
        counts = [self.layers // self.pp] * self.pp
        for k in range(self.layers % self.pp):
            counts[(k + 1) % self.pp] += 1
        return range(sum(counts[:p]), sum(counts[:p + 1]))


class Program:
    """Lines of one rank, or of the single device; every value is a storage of its own."""

    def __init__(self, layout, rank=None):
        self.layout, self.single = layout, rank is None
        self.rows = layout.rows if self.single else ROWS
        self.inner = INNER * layout.tp if self.single else INNER
        self.t = 0 if self.single else rank % layout.tp
        self.p = 0 if self.single else rank // layout.tp // layout.dp
        self.pp = 1 if self.single else layout.pp
        self.numbers = range(layout.layers) if self.single else layout.stage(self.p)
        self.groups = layout.groups(rank or 0)
        self.lines, self.n, self.mod = [], 0, ""

    def tensor(self, *sizes):
        self.n += 1
        return ["t", self.n - 1, 0, list(sizes), [sizes[1], 1], "float32"]

    @staticmethod
    def turned(t):
        return t[:3] + [t[3][::-1], t[4][::-1], t[5]]

    def op(self, name, line, out, /, **args):
        self.lines.append({"op": name, "a": args, "out": [out] if out else [], "src": [f"train.py:{line}, in step", ""],
                           "mod": self.mod})
        return out

    def mm(self, a, b, line):
        return self.op("aten.mm.default", line, self.tensor(a[3][0], b[3][1]), self=a, mat2=b)

    def reduce(self, t, axis, line, how="sum"):
        if not self.single and len(self.groups[axis]) > 1:
            self.op("c10d.allreduce_.default", line, t, tensors=[t], process_group=["pg", self.groups[axis]], reduce_op=how)

    def message(self, kind, t, stage, line):
        peer = {"dst" if kind == "send" else "src": stage}
        self.op(f"c10d.{kind}.default", line, t if kind == "recv_" else None, tensors=[t], process_group=["pg", self.groups["pp"]], tag=0, **peer)
        return t

    def place(self, shape, dim):
        at, tp = [0, 0], 1 if self.single else self.layout.tp
        if dim is not None:
            at[dim] = self.t * shape[dim]
        return {"global": [s * (tp if d == dim else 1) for d, s in enumerate(shape)], "at": at}

    def inits(self):
        self.parameters, self.inputs = {}, []
        for m in range(self.layout.micro):
            self.inputs.append(self.tensor(self.rows, WIDTH))
            self.lines.append({"init": "input", "name": f"x{m}", "t": self.inputs[-1], "global": [self.layout.rows, WIDTH],
                               "at": [0, 0]})
        for i in self.numbers:
            a, b = self.tensor(WIDTH, self.inner), self.tensor(self.inner, WIDTH)
            self.parameters[i] = a, b
            for name, t, dim in ((f"layers.{i}.a", a, 1), (f"layers.{i}.b", b, 0)):
                self.lines.append({"init": "param", "name": name, "t": t} | self.place(t[3], dim))

    def forward(self, m):
        x, saved = self.inputs[m], {}
        if self.p > 0:
            x = self.message("recv_", self.tensor(ROWS, WIDTH), self.p - 1, 8)
        for i, (a, b) in self.parameters.items():
            self.mod = f"layers.{i}"
            h = self.mm(x, a, 10)
            r = self.op("aten.gelu.default", 11, self.tensor(*h[3]), self=h)
            y = self.mm(r, b, 12)
            self.reduce(y, "tp", 13)
            saved[i] = x, h, r
            x = self.op("aten.add.Tensor", 14, self.tensor(*y[3]), self=x, other=y)
        self.mod = ""
        if self.p < self.pp - 1:
            self.message("send", x, self.p + 1, 15)
        return x, saved

    def backward(self, g, saved, grads):
        if self.p < self.pp - 1:
            g = self.message("recv_", self.tensor(ROWS, WIDTH), self.p + 1, 19)
        for i, (x, h, r) in reversed(saved.items()):
            a, b = self.parameters[i]
            self.mod = f"layers.{i}"
            gb, gr = self.mm(self.turned(r), g, 20), self.mm(g, self.turned(b), 21)
            gh = self.op("aten.gelu_backward.default", 22, self.tensor(*gr[3]), grad_output=gr, self=h)
            ga, gx = self.mm(self.turned(x), gh, 23), self.mm(gh, self.turned(a), 24)
            self.reduce(gx, "tp", 25)
            g = self.op("aten.add.Tensor", 26, self.tensor(*gx[3]), self=g, other=gx)
            for k, grad in enumerate((ga, gb)):
                known = grads.setdefault((i, k), grad)
                if known is not grad:
                    self.op("aten.add_.Tensor", 26, known, self=known, other=grad)
        self.mod = ""
        if self.p > 0:
            self.message("send", g, self.p - 1, 26)

    def step(self):
        """All lines; the gradient of the loss is the last layer's output."""
        grads, mean = {}, "avg" if self.layout.one_batch else "sum"
        self.inits()
        for x, saved in [self.forward(m) for m in range(self.layout.micro)]:
            self.backward(x, saved, grads)
        for (i, k), grad in sorted(grads.items(), reverse=True):
            p, dim = self.parameters[i][k], 1 - k
            self.reduce(grad, "dp", 27, mean)
            self.op("aten.add_.Tensor", 28, p, self=p, other=grad, alpha=-0.5)
            self.lines.append({"result": f"layers.{i}.{'ab'[k]}", "t": p} | self.place(p[3], dim))
        return self.lines

    def head(self, rank):
        return {"plan": 1, "rank": rank, "world": 1 if self.single else self.layout.world,
                "mesh": [] if self.single else self.layout.mesh(rank)}


def rank_lines(layout, rank, change):
    """Those of a captured rank, or the few of one that is like it."""
    t, d, p = rank % layout.tp, rank // layout.tp % layout.dp, rank // layout.tp // layout.dp
    like = p * layout.dp * layout.tp + t
    if rank == like:
        program = Program(layout, rank)
        return [program.head(rank), *change(program.step(), rank)]
    head = {"plan": 1, "rank": rank, "world": layout.world, "mesh": layout.mesh(rank), "like": like}
    if layout.one_batch:
        return [head]
    return [head, *({"init": "input", "name": f"x{m}", "t": ["t", m, 0, [ROWS, WIDTH], [WIDTH, 1], "float32"],
                     "global": [layout.rows, WIDTH], "at": [ROWS * d, 0]} for m in range(layout.micro))]


def write(folder, layout, change=lambda lines, rank: lines):
    """folder/single and folder/parallel; change(lines, rank) alters those of the ranks that are written out."""
    for name in ("single", "parallel"):
        (folder / name).mkdir()
    with open(folder / "single/plan-rank00000.jsonl", "w") as f:
        program = Program(layout)
        f.writelines(json.dumps(line) + "\n" for line in [program.head(0), *program.step()])
    with open(folder / "parallel/plan-all.jsonl", "w") as f:
        for rank in range(layout.world):
            f.writelines(json.dumps(line) + "\n" for line in rank_lines(layout, rank, change))


def without_reduction(layout):
    """Drops the all-reduce of the middle layer's forward, of every micro-batch."""
    module = f"layers.{layout.layers // 2}"
    is_dropped = lambda line: line.get("mod") == module and line["op"].startswith("c10d.") and line["src"][0].startswith("train.py:13,")
    return lambda lines, rank: [line for line in lines if not is_dropped(line)]


def processor_time():
    """Seconds that all processes took which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--one-batch", action="store_true", help="all of dp have one batch")
    parser.add_argument("--broken", action="store_true", help="a reduction is missing in the middle layer")
    parser.add_argument("layout", nargs="*", default=DEFAULT)
    options = parser.parse_args()
    print("tp   dp    layers  pp  ranks  operators   seconds  of processor  us/operator/seed  peak MB (so far)")
    for name in options.layout:
        layout = Layout(*map(int, name.split("x")), one_batch=options.one_batch)
        with tempfile.TemporaryDirectory() as temp:
            folder = pathlib.Path(temp)
            write(folder, layout, *[without_reduction(layout)] * options.broken)
            before = processor_time()
            run = subprocess.run([options.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                                  folder / "single", "-o", folder / "out", "--json", "-j", options.jobs,
                                  "--no-html-report", "-q"], capture_output=True, text=True)
            if run.returncode != options.broken:
                sys.exit(f"{name}: {run.stdout}{run.stderr}")
            said = json.loads(run.stdout.splitlines()[-1])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        used = processor_time() - before
        cost = used / said["operators"] / said["seeds"] * 1e6
        print(f"{layout.tp:<4} {layout.dp:<5} {layout.layers:<7} {layout.pp:<3} {layout.world:<6} {said['operators']:<11} {said['seconds']:<8.2f} "
              f"{used:<13.2f} {cost:<17.2f} {peak:.0f}", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
