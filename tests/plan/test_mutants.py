#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every mutant of a correct plan is refuted: a collective dropped, doubled or given to the other group, a factor changed.

usage: test_mutants.py --bin BUILD/bin

The plan is that of benchmarks/plan/growth.py, two layers over tp 2 and dp 2: each of its collectives and factors reaches a
parameter (but for one, see collectives), so no mutant is the same computation. No torch.
"""

import copy
import importlib.util
import json
import pathlib
import subprocess
import tempfile
import unittest

from options import OPTIONS, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TP, DP, LAYERS = 2, 2, 2


def growth():
    spec = importlib.util.spec_from_file_location("growth", ROOT / "benchmarks/plan/growth.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GROWTH = growth()
GROWTH.WIDTH, GROWTH.INNER = 8, 16  # what reaches what does not depend on them


LAYOUT = GROWTH.Layout(TP, DP, LAYERS)


def plans():
    """Lines of each rank, none retargeted."""
    ranks = []
    for rank in range(TP * DP):
        program = GROWTH.Program(LAYOUT, rank)
        lines = program.step()
        for line in lines:
            if line.get("init") == "input":
                line["at"] = [GROWTH.ROWS * (rank // TP), 0]
        ranks.append([program.head(rank), *lines])
    return ranks


def verdict(ranks):
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        for name in ("single", "parallel"):
            (folder / name).mkdir()
        program = GROWTH.Program(LAYOUT)
        single = [program.head(0), *program.step()]
        for name, number, lines in [("single", 0, single)] + [("parallel", i, lines) for i, lines in enumerate(ranks)]:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / name / f"plan-rank{number:05d}.jsonl").write_text(text)
        run = subprocess.run([OPTIONS.bin / "traincheck-check", "--plan", folder / "parallel", "--plan-reference",
                              folder / "single", "-o", folder / "out", "--json", "-q", "--no-html-report"], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr


def places(is_wanted):
    """Numbers of the lines to mutate: the same on all ranks."""
    return [i for i, line in enumerate(plans()[0]) if is_wanted(line)]


def is_collective(line):
    return line.get("op", "").startswith("c10d")


def collectives():
    """All but that of the gradient of x, which reaches no parameter."""
    found = places(is_collective)
    of_inputs = [i for i in found if plans()[0][i]["src"][0].startswith("train.py:25,")]
    return [i for i in found if i != of_inputs[-1]]


class Mutants(unittest.TestCase):
    def assert_refuted(self, change, where):
        for i in where:
            ranks = copy.deepcopy(plans())
            for rank, lines in enumerate(ranks):
                change(lines, i, rank)
            code, text = verdict(ranks)
            self.assertEqual(code, 1, f"line {i}: {text}")

    def test_the_plan_itself_is_verified(self):
        code, text = verdict(plans())
        self.assertEqual(code, 0, text)

    def test_dropped_collective(self):
        self.assert_refuted(lambda lines, i, rank: lines.pop(i), collectives())

    def test_dropped_on_one_rank(self):
        self.assert_refuted(lambda lines, i, rank: rank or lines.pop(i), collectives())

    def test_doubled_collective(self):
        self.assert_refuted(lambda lines, i, rank: lines.insert(i, lines[i]), collectives())

    def test_collective_of_the_other_group(self):
        def change(lines, i, rank):
            tp, dp = ([rank // TP * TP + k for k in range(TP)], [rank % TP + TP * k for k in range(DP)])
            group = lines[i]["a"]["process_group"]
            lines[i]["a"]["process_group"] = ["pg", dp if group[1] == tp else tp]
        self.assert_refuted(change, collectives())

    def test_average_in_place_of_sum(self):
        self.assert_refuted(lambda lines, i, rank: lines[i]["a"].update(reduce_op="avg"), collectives())

    def test_factor(self):
        has_factor = lambda line: "alpha" in line.get("a", {})
        self.assert_refuted(lambda lines, i, rank: lines[i]["a"].update(alpha=-0.25), places(has_factor))


if __name__ == "__main__":
    main("--bin")
