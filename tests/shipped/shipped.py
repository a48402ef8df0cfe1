# SPDX-License-Identifier: Apache-2.0
"""What the tests of the shipped sets share."""

import argparse
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "invariants")]


def main(**options):
    """Run the tests of the calling module; returns its options, as paths, to be set before."""
    parser = argparse.ArgumentParser()
    for name in options:
        parser.add_argument(f"--{name}", type=lambda p: pathlib.Path(p).resolve(), required=True)
    known, rest = parser.parse_known_args()
    for name, owner in options.items():
        setattr(owner, name, getattr(known, name))
    unittest.main(argv=[sys.argv[0], *rest])
