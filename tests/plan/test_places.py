#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line that is told is that of the cause: of the output that is wrong, of the call of a helper, of what Python rounded.

usage: test_places.py --bin BUILD/bin

Plans written by hand, no torch.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

from options import OPTIONS, main

ROWS, WIDTH, RANKS = 6, 5, 2
TP = {"name": "tp", "ranks": list(range(RANKS))}


def tensor(storage, *sizes):
    strides = [1] * len(sizes)
    for d in reversed(range(len(sizes) - 1)):
        strides[d] = strides[d + 1] * sizes[d + 1]
    return ["t", storage, 0, list(sizes), strides, "float32"]


def op(name, at, outs, /, node="", via=(), **args):
    line = {"op": name, "a": args, "out": outs, "src": [f"{at}, in step", node]}
    return line | {"via": list(via)} if via else line


def summed(t, at, via=()):
    return op("c10d.allreduce_.default", at, [t], via=via, tensors=[t], reduce_op="sum", process_group=["pg", TP["ranks"]])


def param(t, name, rank, world):
    whole = [t[3][0] * world, *t[3][1:]]
    return {"init": "param", "name": name, "t": t, "global": whole, "at": [t[3][0] * rank] + [0] * (len(whole) - 1)}


def job(world, body):
    """For each rank the head and what body(rank, rows) gives."""
    return [[{"plan": 1, "rank": rank, "world": world, "mesh": [TP] if world > 1 else [], "script": "train.py"},
             *body(rank, ROWS // world)] for rank in range(world)]


def check(single, parallel):
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        for name, ranks in {"single": single, "parallel": parallel}.items():
            (folder / name).mkdir()
            for rank, lines in enumerate(ranks):
                (folder / name / f"plan-rank{rank:05d}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference", folder / "single",
                              "-o", folder / "out", "--json", "--no-html-report"], capture_output=True, text=True)
        said = [json.loads(line) for line in run.stdout.splitlines()]
    return run.returncode, said[:-1]


def clipped(world, sums_all):
    """The rows of a norm are split over tp. Its weight's gradient is the second output of the backward, and reaches the norm of
    all gradients: lines 20, 30 (what sums), 40."""
    def body(rank, rows):
        x, grad, weight = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH), tensor(2, WIDTH)
        out, mean, root = tensor(3, rows, WIDTH), tensor(4, rows, 1), tensor(5, rows, 1)
        of_x, of_weight, of_bias = tensor(6, rows, WIDTH), tensor(7, WIDTH), tensor(8, WIDTH)
        square, total, both = tensor(9, WIDTH), tensor(10), tensor(11, WIDTH)
        yield param(x, "x", rank, world)
        yield param(grad, "grad", rank, world)
        yield {"init": "param", "name": "weight", "t": weight, "global": [WIDTH], "at": [0]}
        yield op("aten.native_layer_norm.default", "train.py:10", [out, mean, root], input=x, normalized_shape=[WIDTH], weight=weight,
                 bias=None, eps=0.5)
        yield op("aten.native_layer_norm_backward.default", "train.py:20", [of_x, of_weight, None], node="NativeLayerNormBackward0",
                 grad_out=grad, input=x, normalized_shape=[WIDTH], mean=mean, rstd=root, weight=weight, bias=None,
                 output_mask=[True, True, False])
        yield op("aten.sum.dim_IntList", "train.py:21", [of_bias], node="SumBackward0", self=grad, dim=[0], keepdim=False)
        if world > 1:
            yield summed(of_bias, "train.py:30")
            if sums_all:
                yield summed(of_weight, "train.py:30")
        yield op("aten.pow.Tensor_Scalar", "train.py:40", [square], self=of_weight, exponent=2)
        yield op("aten.sum.default", "train.py:40", [total], self=square)
        yield op("aten.mul.Tensor", "train.py:41", [both], self=of_bias, other=total)
        yield {"result": "both", "t": both, "global": [WIDTH], "at": [0]}
    return job(world, body)


def averaged(world, extra):
    """A helper sums twice: what train.py:5 calls is right, what train.py:7 calls is one sum too many."""
    def body(rank, rows):
        x, total, scaled = tensor(0, rows, WIDTH), tensor(1, WIDTH), tensor(2, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.sum.dim_IntList", "train.py:4", [total], via=("train.py:99",), self=x, dim=[0], keepdim=False)
        if world > 1:
            yield summed(total, "help.py:2", via=("train.py:5", "train.py:99"))
        yield op("aten.exp.default", "train.py:6", [scaled], self=total)
        if extra:
            yield summed(scaled, "help.py:2", via=("train.py:7", "train.py:99"))
        yield {"result": "scaled", "t": scaled, "global": [WIDTH], "at": [0]}
    return job(world, body)


def helped(world):
    """One device reaches the helper at line 4 from line 5, the job from line 7 alone: with its part of x."""
    def body(rank, rows):
        x, out = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.softmax.int", "help.py:4", [out], via=("train.py:7" if world > 1 else "train.py:5",), self=x, dim=0)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def summed_forward(world, is_summed):
    """exp of a sum over all rows; the gradient of x is not summed before it goes back: lines 8 (the exchange, called at 9), 10."""
    def body(rank, rows):
        x, weight, total, out = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH), tensor(2, WIDTH), tensor(3, rows, WIDTH)
        back, of_total, of_x = tensor(4, rows, WIDTH), tensor(5, WIDTH), tensor(6, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield param(weight, "weight", rank, world)
        yield op("aten.sum.dim_IntList", "train.py:7", [total], self=x, dim=[0], keepdim=False)
        if world > 1:
            yield summed(total, "help.py:8", via=("train.py:9",))
        yield op("aten.mul.Tensor", "train.py:10", [out], self=total, other=weight)
        yield op("aten.mul.Tensor", "train.py:10", [back], node="MulBackward0", self=out, other=weight)
        yield op("aten.sum.dim_IntList", "train.py:10", [of_total], node="MulBackward0", self=back, dim=[0], keepdim=False)
        if is_summed:
            yield summed(of_total, "help.py:12", via=("train.py:9",))
        yield op("aten.mul.Tensor", "train.py:13", [of_x], node="PowBackward0", self=x, other=of_total)
        yield {"result": "of_x", "t": of_x, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def scaled(world, numbers):
    """Of two results one is divided once more: line 12, beside line 11."""
    def body(rank, rows):
        x, y = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.exp.default", "train.py:10", [y], self=x)
        for line, number in numbers:
            yield op("aten.div_.Scalar", f"train.py:{line}", [y], self=y, other=number)
        yield op("aten.sin.default", "train.py:20", [y], self=y)
        yield {"result": "y", "t": y, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def weighed(world, number, gain=1):
    """x times a sum of numbers. One device has it as a float, the ranks exchange their parts before the step: line 8."""
    def body(rank, rows):
        x, weight, out = tensor(0, rows, WIDTH), tensor(1), tensor(2, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield {"const": 1, "n": 1, "dtype": "float32", "data": [number if world > 1 else RANKS * number]}
        if world > 1:
            yield summed(weight, "train.py:8")
        yield op("aten.mul.Tensor", "train.py:9", [out], self=x, other=weight)
        if gain != 1:
            yield op("aten.mul_.Scalar", "train.py:10", [out], self=out, other=gain)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def chosen(world, sums, gain=1):
    """Python has read 99 where no evaluation finds it: the place of the largest element of a parameter; sums: of all ranks."""
    def body(rank, rows):
        x, place, out = tensor(0, rows, WIDTH), tensor(1), tensor(2, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.argmax.default", "train.py:8", [place], self=x)
        if sums and world > 1:
            yield summed(place, "train.py:9")
        yield {**op("aten._local_scalar_dense.default", "train.py:10", [], self=place), "value": 99}
        yield op("aten.mul.Scalar", "train.py:11", [out], self=x, other=gain)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def normed(world, early):
    """The mean of squares over all columns, of which each rank has some. early: each divides by those of its own: lines 8, 9, 10."""
    def body(rank, rows):
        x, square, total, out = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH), tensor(2, WIDTH), tensor(3, WIDTH)
        mean = tensor(4, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.pow.Tensor_Scalar", "train.py:7", [square], self=x, exponent=2)
        yield op("aten.sum.dim_IntList", "train.py:8", [total], self=square, dim=[0], keepdim=False)
        if world > 1 and not early:
            yield summed(total, "train.py:12")
        yield op("aten.div.Scalar", f"train.py:{9 if world > 1 else 10}", [mean], self=total, other=rows if early else ROWS)
        yield op("aten.exp.default", "train.py:10", [out], self=mean)
        yield {"result": "out", "t": out, "global": [WIDTH], "at": [0]}
    return job(world, body)


def counted(world, twice):
    """A mean over 12 tokens, which ranks count together: lines 8, 9. twice: each counts all."""
    def body(rank, rows):
        x, count, out = tensor(0, rows, WIDTH), tensor(1), tensor(2, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield {"const": 1, "n": 1, "dtype": "int64", "data": [12 if world == 1 or twice else 12 // world]}
        if world > 1:
            yield summed(count[:5] + ["int64"], "train.py:8")
        yield op("aten.div.Tensor", "train.py:9", [out], self=x, other=count[:5] + ["int64"])
        yield op("aten.mul.Scalar", "train.py:10", [out], self=out, other=3)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def accumulated(world, bug):
    """Two micro-batches of each rank: line 20 adds to line 10, line 30 sums over ranks, line 40 halves. bug: "early" sums the
    first one alone, "often" halves it twice, "never" sums none."""
    def body(rank, _):
        n = 2 if world > 1 else 1
        parts, grads, out = [tensor(k, 8 // world // n, WIDTH) for k in range(n)], [tensor(2 + k, WIDTH) for k in range(n)], tensor(9, WIDTH)
        for k, x in enumerate(parts):
            yield {"init": "param", "name": "x", "t": x, "global": [8, WIDTH], "at": [2 * n * rank + 2 * k, 0]}
        for k, x in enumerate(parts):
            yield op("aten.sum.dim_IntList", "train.py:10", [grads[k]], node="SumBackward0", self=x, dim=[0], keepdim=False)
            if k == 1:
                yield op("aten.add_.Tensor", "train.py:20", [grads[0]], node="SumBackward0", self=grads[0], other=grads[1])
            if bug == "often" or k == n - 1:
                yield op("aten.div_.Scalar", "train.py:40", [grads[0]], self=grads[0], other=2)
            if world > 1 and bug != "never" and k == (0 if bug == "early" else 1):
                yield summed(grads[0], "train.py:30")
        yield op("aten.exp.default", "train.py:50", [out], self=grads[0])
        yield {"result": "out", "t": out, "global": [WIDTH], "at": [0]}
    return job(world, body)


def norm_of_stages(world, is_whole):
    """Each rank has two parameters of its own, and the norm of all clips: lines 10, 20 (what adds), 30, 40."""
    def body(rank, rows):
        each = 4 // world
        total, norm = tensor(90), tensor(91)
        for k in range(rank * each, (rank + 1) * each):
            yield {"init": "param", "name": f"w{k}", "t": tensor(k, 2 + k), "global": [2 + k], "at": [0]}
        for n, k in enumerate(range(rank * each, (rank + 1) * each)):
            yield op("aten.pow.Tensor_Scalar", "train.py:10", [tensor(10 + k, 2 + k)], self=tensor(k, 2 + k), exponent=2)
            yield op("aten.sum.default", "train.py:10", [tensor(20 + k)], self=tensor(10 + k, 2 + k))
            if n:
                yield op("aten.add.Tensor", "train.py:20", [tensor(30 + k)], self=tensor(30 + k - 1 if n > 1 else 20 + k - 1),
                         other=tensor(20 + k))
        if is_whole:
            yield summed(tensor(30 + k), "train.py:30")
        yield op("aten.sqrt.default", "train.py:40", [norm], self=tensor(30 + k))
        for k in range(rank * each, (rank + 1) * each):
            yield op("aten.mul.Tensor", "train.py:50", [tensor(40 + k, 2 + k)], self=tensor(k, 2 + k), other=norm)
            yield {"result": f"g{k}", "t": tensor(40 + k, 2 + k), "global": [2 + k], "at": [0]}
    return job(world, body)


def stacked(world):
    """Rank 0 has three of four parameters; squares are stacked and summed by line 10, line 40 takes the root."""
    def body(rank, _):
        mine = range(4) if world == 1 else range(3, 4) if rank else range(3)
        stack, total, norm = tensor(90, len(mine)), tensor(91), tensor(92)
        for k in mine:
            yield {"init": "param", "name": f"w{k}", "t": tensor(k, 2 + k), "global": [2 + k], "at": [0]}
            yield op("aten.pow.Tensor_Scalar", "train.py:5", [tensor(10 + k, 2 + k)], self=tensor(k, 2 + k), exponent=2)
            yield op("aten.sum.default", "train.py:5", [tensor(20 + k)], self=tensor(10 + k, 2 + k))
        yield op("aten.stack.default", "train.py:10", [stack], tensors=[tensor(20 + k) for k in mine], dim=0)
        yield op("aten.sum.default", "train.py:10", [total], self=stack)
        yield op("aten.sqrt.default", "train.py:40", [norm], self=total)
        for k in mine:
            yield op("aten.mul.Tensor", "train.py:50", [tensor(40 + k, 2 + k)], self=tensor(k, 2 + k), other=norm)
            yield {"result": f"g{k}", "t": tensor(40 + k, 2 + k), "global": [2 + k], "at": [0]}
    return job(world, body)


def ring(world, reads):
    """Each row adds up exp of itself and the blocks of all ranks, which go round: line 10 reads a block, line 20 passes it on.
    reads: of each hop the block that is read; what arrives in the first hop is number 1."""
    half = [ROWS // RANKS, WIDTH]

    def view(storage, k):
        return ["t", storage, (k if world == 1 else 0) * half[0] * WIDTH, half, [WIDTH, 1], "float32"]

    def body(rank, rows):
        yield param(tensor(0, rows, WIDTH), "x", rank, world)
        yield param(tensor(1, rows, WIDTH), "q", rank, world)
        yield op("aten.cos.default", "train.py:9", [tensor(2, rows, WIDTH)], self=tensor(0, rows, WIDTH))
        node = {"node": "RingBackward"} if world > 1 else {}
        for row in range(RANKS) if world == 1 else [rank]:
            at = 10 * (row + 1)
            for hop in range(RANKS):
                block = view(2, hop) if world == 1 else tensor(6 if reads[hop] else 2, *half)
                yield op("aten.add.Tensor", "train.py:10", [tensor(at + hop, *half)], self=block, other=view(1, row), **node)
                is_own = hop == (row if world == 1 else 0)
                yield op("aten.exp.default" if is_own else "aten.tanh.default", "train.py:11", [tensor(at + 2 + hop, *half)],
                         self=tensor(at + hop, *half), **node)
                if world > 1 and not hop:
                    pg = {"process_group": ["pg", TP["ranks"]], "tag": 0}
                    yield op("c10d.send.default", "train.py:20", [], tensors=[tensor(2, *half)], dst=1 - rank, **pg, **node)
                    yield op("c10d.recv_.default", "train.py:20", [tensor(6, *half)], tensors=[tensor(6, *half)], src=1 - rank, **pg,
                             **node)
            yield op("aten.add.Tensor", "train.py:12", [tensor(at + 4, *half)], self=tensor(at + 2, *half), other=tensor(at + 3, *half),
                     **node)
            yield op("aten.sin.default", "train.py:13", [tensor(at + 5, *half)], self=tensor(at + 4, *half))
            yield {"result": f"out{row}", "t": tensor(at + 5, *half), "global": half, "at": [0, 0]}
    return job(world, body)


def squared(world, is_whole):
    """The norm of three parameters whose rows are split, and of one that is whole on each rank: lines 10, 20 (what adds, in
    another order than one device), 30, 40."""
    def body(rank, rows):
        for k, name in enumerate("abcw"):
            t = tensor(k, ROWS if name == "w" else rows, WIDTH + k)
            yield param(t, name, 0 if name == "w" else rank, 1 if name == "w" else world)
            yield op("aten.pow.Tensor_Scalar", "train.py:10", [tensor(10 + k, *t[3])], self=t, exponent=2)
            yield op("aten.sum.default", "train.py:10", [tensor(20 + k)], self=tensor(10 + k, *t[3]))
        order = [3, 0, 1, 2] if world == 1 else [0, 1, 2]
        total = tensor(20 + order[0])
        for n, k in enumerate(order[1:]):
            yield op("aten.add.Tensor", "train.py:20", [tensor(30 + n)], self=total, other=tensor(20 + k))
            total = tensor(30 + n)
        if is_whole:
            yield summed(total, "train.py:30")
        if world > 1:
            yield op("aten.add.Tensor", "train.py:35", [tensor(40)], self=total, other=tensor(23))
            total = tensor(40)
        yield op("aten.sqrt.default", "train.py:40", [tensor(50)], self=total)
        yield op("aten.mul.Tensor", "train.py:50", [tensor(51, ROWS, WIDTH + 3)], self=tensor(3, ROWS, WIDTH + 3), other=tensor(50))
        yield {"result": "out", "t": tensor(51, ROWS, WIDTH + 3), "global": [ROWS, WIDTH + 3], "at": [0, 0]}
    return job(world, body)


def scattered(world, is_summed):
    """A sum over all rows is cut into pieces (line 20), of which each rank gets its own, summed: line 30."""
    half = [ROWS // RANKS, WIDTH]

    def body(rank, rows):
        x, y = tensor(0, 2 * rows, ROWS), tensor(2, 2 * rows, WIDTH)
        mine, out = tensor(3, ROWS // world, WIDTH), tensor(4, ROWS // world, WIDTH)
        yield {"init": "param", "name": "x", "t": x, "global": [2 * ROWS, ROWS], "at": [2 * rows * rank, 0]}
        yield {"init": "param", "name": "y", "t": y, "global": [2 * ROWS, WIDTH], "at": [2 * rows * rank, 0]}
        yield op("aten.mm.default", "train.py:10", [tensor(5, ROWS, WIDTH)],
                 self=["t", 0, 0, [ROWS, 2 * rows], [1, ROWS], "float32"], mat2=y)
        if world == 1:
            mine = tensor(5, ROWS, WIDTH)
        for k in range(RANKS) if world > 1 else ():
            piece = ["t", 5, k * half[0] * WIDTH, half, [WIDTH, 1], "float32"]
            yield op("aten.clone.default", "train.py:20", [tensor(6 + k, *half)], self=piece)
        if world > 1 and is_summed:
            yield op("c10d._reduce_scatter_base_.default", "train.py:30", [mine], output_tensor=mine,
                     input_tensor=tensor(5, ROWS, WIDTH), reduce_op="sum", process_group=["pg", TP["ranks"]])
        elif world > 1:
            yield op("aten.copy_.default", "train.py:30", [mine], self=mine, src=tensor(6 + rank, *half))
        yield op("aten.exp.default", "train.py:40", [out], self=mine)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [ROWS // world * rank, 0]}
    return job(world, body)


def halved(world, number):
    """A gradient that begins with a number: it is multiplied twice (lines 11 and 12), and meets the values at line 13."""
    def body(rank, rows):
        x, one, out = tensor(0, rows, WIDTH), tensor(1), tensor(4, rows, WIDTH)
        yield param(x, "x", rank, world)
        yield op("aten.ones.default", "train.py:10", [one], size=[])
        yield op("aten.mul.Tensor", "train.py:11", [tensor(2)], self=one, other=12 // number) | {"made": ["train.py:5"]}
        yield op("aten.mul.Tensor", "train.py:12", [tensor(3)], self=tensor(2), other=3 * world)
        yield op("aten.mul.Tensor", "train.py:13", [out], self=x, other=tensor(3))
        yield op("aten.exp.default", "train.py:14", [out], self=out)
        yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
    return job(world, body)


def returned(world, adds):
    """Each rank adds to what goes round, from the block of rows it began with: lines 11, 12 (what adds), 20 (what passes on)."""
    half = [ROWS // RANKS, WIDTH]

    def body(rank, rows):
        yield param(tensor(0, rows, WIDTH), "x", rank, world)
        for row in range(RANKS) if world == 1 else [rank]:
            node, at = {"node": "RoundBackward"} if world > 1 else {}, 10 * (row + 1)
            own, other = (["t", 0, r * half[0] * WIDTH if world == 1 else 0, half, [WIDTH, 1], "float32"] for r in (row, 1 - row))
            pg = {"process_group": ["pg", TP["ranks"]], "tag": 0}
            yield op("aten.exp.default", "train.py:11", [tensor(at, *half)], self=own, **node)
            if world > 1:
                yield op("c10d.send.default", "train.py:20", [], tensors=[tensor(at, *half)], dst=1 - rank, **pg, **node)
                yield op("c10d.recv_.default", "train.py:20", [tensor(at + 1, *half)], tensors=[tensor(at + 1, *half)], src=1 - rank, **pg,
                         **node)
            yield op("aten.tanh.default", "train.py:12", [tensor(at + 2, *half)], self=other, **node)
            if adds:
                yield op("aten.add.Tensor", "train.py:12", [tensor(at + 3, *half)], self=tensor(at + 2, *half),
                         other=tensor(at if world == 1 else at + 1, *half), **node)
            made = tensor(at + 3 if adds else at + 2, *half)
            if world > 1:
                yield op("c10d.send.default", "train.py:20", [], tensors=[made], dst=1 - rank, **pg, **node)
                yield op("c10d.recv_.default", "train.py:20", [tensor(at + 4, *half)], tensors=[tensor(at + 4, *half)], src=1 - rank, **pg,
                         **node)
                made = tensor(at + 4, *half)
            yield op("aten.sin.default", "train.py:30", [tensor(at + 5, *half)], self=made)
            yield {"result": f"out{row}", "t": tensor(at + 5, *half), "global": half, "at": [0, 0]}
    return job(world, body)


class Places(unittest.TestCase):
    def test_a_norm_departs_where_its_sum_is_used(self):
        self.assertEqual(check(squared(1, False), squared(RANKS, True)), (0, []))
        code, findings = check(squared(1, False), squared(RANKS, False))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:35"))
        self.assertIn("it uses a value that is Partial(sum) over tp", findings[0]["text"])

    def test_pieces_of_a_sum_depart_where_each_rank_takes_its_own(self):
        self.assertEqual(check(scattered(1, True), scattered(RANKS, True)), (0, []))
        code, findings = check(scattered(1, True), scattered(RANKS, False))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:30"))
        self.assertIn("a reduction is missing after aten.mm (train.py:10) or aten.clone (train.py:20)", findings[0]["text"])

    def test_other_factors_are_told(self):
        self.assertEqual(check(halved(1, 1), halved(RANKS, RANKS)), (0, []))
        code, findings = check(halved(1, 1), halved(RANKS, 3))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (1, "factor", "train.py:11"))
        self.assertIn("; other factors on its way are those of aten.mul (train.py:12); it reads what was chosen at train.py:5",
                      findings[0]["text"])

    def test_a_sum_that_goes_round_and_is_begun_anew_is_told(self):
        self.assertEqual(check(returned(1, True), returned(RANKS, True)), (0, []))
        code, findings = check(returned(1, True), returned(RANKS, False))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (1, "unread-message", "train.py:12"))
        self.assertIn("what it makes is sent on, and nothing reads what has arrived", findings[0]["text"])

    def test_an_exchange_from_which_nothing_goes_back_is_told(self):
        def body(rank, rows):
            x, w, y, b1, b2, both, out = (tensor(k, rows, WIDTH) for k in range(7))
            yield param(x, "x", rank, ROWS // rows)
            yield param(w, "w", rank, ROWS // rows)
            yield op("aten.exp.default", "train.py:10", [y], self=x)
            if rows < ROWS:
                yield op("aten.clone.default", "train.py:14", [tensor(8, rows, WIDTH)], self=y)
                yield summed(tensor(8, rows, WIDTH), "train.py:15")
            yield op("aten.mul.Tensor", "train.py:11", [b1], node="MulBackward0", self=w, other=w)
            if rows == ROWS:
                yield op("aten.sin.default", "train.py:12", [b2], node="SinBackward0", self=y)
                yield op("aten.add.Tensor", "train.py:11", [both], node="MulBackward0", self=b1, other=b2)
            yield op("aten.mul.Tensor", "train.py:10", [out], node="ExpBackward0", self=both if rows == ROWS else b1, other=y)
            yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
        code, findings = check(job(1, body), job(RANKS, body))
        self.assertEqual((code, findings[0]["finding"]), (1, "left-out"))
        self.assertIn("; nothing goes back from c10d.allreduce_ (train.py:15)", findings[0]["text"])

    def test_micro_batches_that_are_not_summed_are_told_at_their_line(self):
        code, findings = check(accumulated(1, ""), accumulated(RANKS, "never"))
        self.assertEqual(code, 1)
        self.assertIn("a reduction is missing after aten.sum (train.py:10)", findings[0]["text"])

    def test_lines_between_a_sum_and_its_use_are_told(self):
        self.assertEqual(check(normed(1, False), normed(RANKS, False)), (0, []))
        code, findings = check(normed(1, False), normed(RANKS, True))
        self.assertEqual(code, 1)
        self.assertIn("aten.sum (train.py:8) or aten.div (train.py:9)", findings[0]["text"])

    def test_a_number_that_ranks_count_twice_is_told(self):
        self.assertEqual(check(counted(1, False), counted(RANKS, False)), (0, []))
        code, findings = check(counted(1, False), counted(RANKS, True))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:8"))
        self.assertIn("(2 times the number that aten.div (train.py:9) reads on one device)", findings[0]["text"])

    def test_terms_that_are_not_treated_alike_are_told(self):
        self.assertEqual(check(accumulated(1, ""), accumulated(RANKS, "")), (0, []))
        code, findings = check(accumulated(1, ""), accumulated(RANKS, "early"))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:30"))
        self.assertIn("some are summed over tp here, others are not", findings[0]["text"])
        code, findings = check(accumulated(1, ""), accumulated(RANKS, "often"))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:40"))
        self.assertIn("some have this factor more often than others", findings[0]["text"])

    def test_a_norm_of_one_stage_is_told(self):
        self.assertEqual(check(norm_of_stages(1, False), norm_of_stages(RANKS, True)), (0, []))
        code, findings = check(norm_of_stages(1, False), norm_of_stages(RANKS, False))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:20"))
        self.assertIn("it adds 2 of the 4 numbers that one device adds, before aten.sqrt (train.py:40)", findings[0]["text"])

    def test_what_reads_a_value_next_is_on_another_line(self):
        code, findings = check(stacked(1), stacked(RANKS))
        self.assertEqual(code, 1)
        self.assertIn(", before aten.sqrt (train.py:40)", findings[0]["text"])

    def test_a_block_that_arrives_and_is_not_read_is_told(self):
        self.assertEqual(check(ring(1, []), ring(RANKS, [0, 1])), (0, []))
        code, findings = check(ring(1, []), ring(RANKS, [0, 0]))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (1, "unread-message", "train.py:10"))

    def test_what_reads_a_parameter_without_a_gradient_is_told(self):
        def body(rank, rows):
            x, out, back = (tensor(k, rows, WIDTH) for k in range(3))
            yield param(x, "x", rank, ROWS // rows)
            yield op("aten.exp.default", "train.py:10", [out], self=x)
            yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
            if rows == ROWS:
                yield op("aten.mul.Tensor", "train.py:10", [back], node="ExpBackward0", self=out, other=out)
                yield {"result": "x.grad", "t": back, "global": [ROWS, WIDTH], "at": [0, 0]}
        code, findings = check(job(1, body), job(RANKS, body))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (1, "missing-result", "train.py:10"))

    def test_what_sums_other_gradients_is_told(self):
        self.assertEqual(check(clipped(1, False), clipped(RANKS, True)), (0, []))
        code, findings = check(clipped(1, False), clipped(RANKS, False))
        self.assertEqual((code, findings[0]["finding"]), (1, "missing-reduction"))
        self.assertIn("a reduction is missing after aten.native_layer_norm_backward (train.py:20); "
                      "other gradients are summed at c10d.allreduce_ (train.py:30)", findings[0]["text"])

    def test_the_call_of_a_helper_is_told(self):
        self.assertEqual(check(averaged(1, False), averaged(RANKS, False)), (0, []))
        code, findings = check(averaged(1, False), averaged(RANKS, True))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "help.py:2"))
        self.assertTrue(findings[0]["text"].endswith(", called at train.py:7"), findings[0]["text"])

    def test_a_call_that_one_device_does_not_make_is_told(self):
        code, findings = check(helped(1), helped(RANKS))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "help.py:4"))
        self.assertIn(", called at train.py:7", findings[0]["text"])

    def test_the_exchange_of_which_the_backward_knows_nothing_is_told(self):
        self.assertEqual(check(summed_forward(1, False), summed_forward(RANKS, True)), (0, []))
        code, findings = check(summed_forward(1, False), summed_forward(RANKS, False))
        self.assertEqual(code, 1)
        self.assertIn("; its forward reads what ranks gave each other at c10d.allreduce_ (help.py:8)",
                      findings[0]["text"])

    def test_a_division_that_one_device_does_not_make_is_left_out(self):
        self.assertEqual(check(scaled(1, [(11, 3)]), scaled(RANKS, [(11, 3)])), (0, []))
        code, findings = check(scaled(1, [(11, 3)]), scaled(RANKS, [(11, 3), (12, 2)]))
        self.assertEqual((code, findings[0]["at"].split(",")[0]), (1, "train.py:12"))
        self.assertIn("the wrong result is right", findings[0]["text"] + findings[0]["details"])

    def test_what_a_value_was_chosen_by_is_told(self):
        def body(rank, rows):
            x, out = tensor(0, rows, WIDTH), tensor(1, rows, WIDTH)
            index = [(n + (rank and 1)) % rows for n in range(rows)]
            yield param(x, "x", rank, 1 if rows == ROWS else RANKS)
            yield {"const": 2, "n": rows, "dtype": "int64", "data": index}
            yield op("aten.index_select.default", "train.py:9", [out], self=x, dim=0,
                     index=["t", 2, 0, [rows], [1], "int64"]) | {"made": ["train.py:5"]}
            yield op("aten.exp.default", "train.py:10", [out], self=out)
            yield {"result": "out", "t": out, "global": [ROWS, WIDTH], "at": [rows * rank, 0]}
        code, findings = check(job(1, body), job(RANKS, body))
        self.assertEqual(code, 1)
        self.assertIn("; it reads what was chosen at train.py:5", findings[0]["text"])

    def test_numbers_of_the_own_rank_were_read_right(self):
        self.assertEqual(check(chosen(1, False), chosen(RANKS, False, gain=3))[0], 1)
        code, findings = check(chosen(1, False), chosen(RANKS, True, gain=3))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (3, "misread", "train.py:10"))

    def test_numbers_that_one_device_has_rounded_are_no_proof(self):
        third = 0.3333333432674408  # a float32
        self.assertEqual(check(weighed(1, 7), weighed(RANKS, 7)), (0, []))
        code, findings = check(weighed(1, 0.7071067690849304), weighed(RANKS, 0.7071067094802856))
        self.assertEqual((code, findings[0]["finding"], findings[0]["at"].split(",")[0]), (3, "rounded", "train.py:8"))
        for number in (7, third):  # whole numbers and small ratios are exact
            code, findings = check(weighed(1, number), weighed(RANKS, number, gain=3))
            self.assertEqual((code, findings[0]["finding"]), (1, "factor"))


if __name__ == "__main__":
    main("--bin")
