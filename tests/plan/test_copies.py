#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that compute the same are evaluated once, and a bug in one of many equal layers is found all the same.

usage: test_copies.py --bin BUILD/bin [--small]

The plans are those of benchmarks/plan/growth.py: 126 layers (18 if small) over pp 6, dp 4 and tp 2,
one rank of each stage and tp position written out, on one batch. No torch.
"""

import importlib.util
import json
import pathlib
import subprocess
import tempfile
import unittest

from options import OPTIONS, main

ROOT = pathlib.Path(__file__).resolve().parents[2]


def growth():
    spec = importlib.util.spec_from_file_location("growth", ROOT / "benchmarks/plan/growth.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GROWTH = growth()
GROWTH.WIDTH, GROWTH.INNER = 8, 16  # many layers, and none of them needs to be wide
SMALL = GROWTH.Layout(tp=2, dp=4, layers=4, pp=2, one_batch=True)


def check(layout, change=lambda lines, rank: lines):
    """(exit code, first finding or None, summary)"""
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        GROWTH.write(folder, layout, change)
        run = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                              folder / "single", "-o", folder / "out", "--json", "-j", "2", "--no-html-report"],
                             capture_output=True, text=True)
        said = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode == 2:
        raise AssertionError(run.stderr)
    return run.returncode, said[0] if len(said) > 1 else None, said[-1]


def llama():
    return GROWTH.Layout(tp=2, dp=4, layers=18 if OPTIONS.small else 126, pp=6, one_batch=True)


def middle(plus=0):
    """The name of a layer behind the middle one, which is not the last one of its stage."""
    return f"layers.{llama().layers // 2 + 1 + plus}"


def in_layer(line, mod, at):
    return line.get("mod") == mod and line["src"][0].startswith(f"train.py:{at},")


def as_scatter_and_gather(line, storage, dp):
    """An all-reduce over dp as FSDP does it: the place of a rank in its group decides what it gets."""
    t = line["out"][0]
    part = ["t", storage, 0, [t[3][0] * t[3][1] // dp], [1], "float32"]
    flat = t[:3] + [[t[3][0] * t[3][1]], [1], "float32"]
    args = {"process_group": line["a"]["process_group"]}
    yield line | {"op": "c10d._reduce_scatter_base_.default", "out": [part],
                  "a": args | {"output_tensor": part, "input_tensor": flat, "reduce_op": "avg"}}
    yield line | {"op": "c10d._allgather_base_.default", "out": [flat],
                  "a": args | {"output_tensor": flat, "input_tensor": part}}


class Copies(unittest.TestCase):
    def test_one_rank_of_each_stage_and_position_is_evaluated(self):
        code, _, said = check(llama())
        self.assertEqual((code, said["verdict"], said["results"]), (0, "verified", 2 * llama().layers))
        self.assertEqual((said["world"], said["evaluated"]), (48, 12))

    def test_one_layer_of_many_without_its_reduction(self):
        code, found, said = check(llama(), lambda lines, rank: [
            line for line in lines if not in_layer(line, middle(), 13)])
        self.assertEqual((code, said["evaluated"]), (1, 12))
        self.assertEqual((found["finding"], found["axis"]), ("missing-reduction", "tp"))
        self.assertEqual(found["module"], middle())
        self.assertIn("train.py:12", found["text"])

    def test_one_layer_of_many_with_the_weights_of_another(self):
        def change(lines, rank):
            params = {line["name"]: line["t"] for line in lines if line.get("init") == "param"}
            for line in lines:
                if "op" in line and in_layer(line, middle(), 10):
                    line["a"]["mat2"] = params[middle(1) + ".a"]
            return lines
        code, found, said = check(llama(), change)
        self.assertEqual((code, said["evaluated"]), (1, 12))
        self.assertEqual((found["module"], found["at"].split(",")[0]), (middle(), "train.py:10"))

    def test_every_copy_of_a_wrong_rank_is_wrong(self):
        def change(lines, rank):
            for line in lines:
                if rank == 0 and line.get("a", {}).get("alpha"):
                    line["a"]["alpha"] = -0.25
            return lines
        code, found, _ = check(SMALL, change)
        self.assertEqual((code, found["ranks"]), (1, [0, 2, 4, 6]))

    def test_ranks_with_batches_of_their_own_are_no_copies(self):
        code, _, said = check(GROWTH.Layout(tp=2, dp=4, layers=4, pp=2))
        self.assertEqual((code, said["evaluated"]), (0, 16))

    def test_a_collective_that_gives_parts_tells_copies_apart(self):
        def change(lines, rank):
            out = []
            for k, line in enumerate(lines):
                is_mean = line.get("a", {}).get("reduce_op") == "avg"
                out += as_scatter_and_gather(line, 100000 + k, SMALL.dp) if is_mean else [line]
            return out
        code, _, said = check(SMALL, change)
        self.assertEqual((code, said["evaluated"]), (0, 16))

    def test_sums_over_copies_count_each_of_them(self):
        layout = GROWTH.Layout(tp=2, dp=4, layers=1, one_batch=True)

        def change(lines, rank):
            for line in lines:
                if "result" in line:
                    line["partial"] = ["dp"]
            return lines
        code, found, said = check(layout, change)
        self.assertEqual((code, said["evaluated"]), (1, 2))
        self.assertEqual(said["differ"], 2)
        code, _, said = check(layout, lambda lines, rank: with_partial_results(lines))
        self.assertEqual((code, said["evaluated"]), (0, 2))


def with_partial_results(lines):
    """What is compared is the mean over dp before it is taken: a quarter of each rank's parameter."""
    out, storage = [], 100000
    for line in lines:
        if "result" in line:
            quarter = ["t", storage, *line["t"][2:]]
            storage += 1
            out.append({"op": "aten.mul.Tensor", "a": {"self": line["t"], "other": 0.25}, "out": [quarter], "src": ["", ""]})
            line = line | {"t": quarter, "partial": ["dp"]}
        out.append(line)
    return out


if __name__ == "__main__":
    main("--bin")
