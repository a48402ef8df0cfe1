#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each row of src/relation/excuse.h: the case that it names meets the excuse, and a check counts it.

usage: test_excuses.py --bin BUILD/bin
"""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest

import run

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
TABLE = TESTS.parent / "src" / "relation" / "excuse.h"
# A check leaves the invariant alone in the whole process, before any example does: learning needs the excuse.
UNCHECKED = {"hidden_owners"}
BIN = None

sys.path.insert(0, str(TESTS.parent / "scripts"))
import relation_tables  # noqa: E402


def not_judged(case, work):
    """Names of the excuses that checks of the case's traces count, by all that its healthy traces teach of its form."""
    found = set()
    module = run.load(case)
    traces = run.write_traces(module, work)
    invariants, _ = run.learn(BIN, case.parent.name.replace("_", "/"), traces["healthy"], getattr(module, "OPTIONS", []), work)
    run.check(BIN, sum(traces.values(), []), invariants, work)
    for log in (work / "checks").glob("*/*.log"):
        for line in log.read_text().splitlines():
            found |= json.loads(line).get("not_judged", {}).keys()
            found |= UNCHECKED if log.name == "unchecked.log" else set()
    return found


class Excuses(unittest.TestCase):
    def test_each_is_met_by_its_case(self):
        rows = relation_tables.rows_of(TABLE, 5)
        self.assertEqual(len({row[0] for row in rows}), TABLE.read_text().count("    X("))
        for name, *_, test in rows:
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="tc excuse ") as work:
                self.assertIn(name, not_judged(TESTS / test, pathlib.Path(work)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BIN = args.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
