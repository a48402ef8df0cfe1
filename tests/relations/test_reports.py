# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/relations.md: the examples of reports are what the tools print, no form is left out, little stands beside them.

usage: test_reports.py --bin BUILD/bin
"""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = None

sys.path.insert(0, str(ROOT / "scripts"))
import relation_tables  # noqa: E402


def forms_of_the_build():
    p = subprocess.run([BIN / "traincheck-infer", "--list-relations"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in p.stdout.splitlines()]


class Reports(unittest.TestCase):
    def test_each_example_is_printed(self):
        for form, expected, seen, case in relation_tables.reports_of(relation_tables.PAGE.read_text(encoding="utf-8")):
            with self.subTest(form=form, case=case):
                self.assertIn((expected, seen), relation_tables.violations_of(BIN, form, case),
                              "run scripts/relation_tables.py --bin")

    def test_each_form_has_an_example(self):
        shown = [row[0] for row in relation_tables.reports_of(relation_tables.PAGE.read_text(encoding="utf-8"))]
        self.assertEqual(sorted(set(shown)), sorted(forms_of_the_build()))

    def test_each_form_has_a_row(self):
        self.assertEqual([row[0] for row in relation_tables.relations()], forms_of_the_build())

    def test_the_page_is_tables_of_the_code_for_the_most_part(self):
        by_hand = relation_tables.TABLE.sub("", relation_tables.PAGE.read_text(encoding="utf-8"))
        self.assertLessEqual(len(by_hand.split()), 6000)

    def test_a_bug_that_is_named_exists(self):
        """As far as it lies in this tree: shared cases are beside it or not."""
        expected = json.loads((ROOT / "benchmarks" / "bugs" / "expect.json").read_text(encoding="utf-8"))
        shared = [file for file in (ROOT.parent / "shared").glob("cases*/*/bug.py")]
        for form, bugs in json.loads((HERE / "told_first.json").read_text(encoding="utf-8")).items():
            with self.subTest(form):
                self.assertIn(form, forms_of_the_build())
                self.assertLessEqual(set(bugs), set(expected) | {file.parent.name for file in shared} if shared else set(bugs))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BIN = args.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
