# SPDX-License-Identifier: Apache-2.0
"""What a test of plans is run with."""

import argparse
import pathlib
import sys
import unittest

OPTIONS = argparse.Namespace()


def main(option):
    """Run the tests of the script; OPTIONS get the path that `option` gives, unittest gets the rest."""
    parser = argparse.ArgumentParser()
    parser.add_argument(option, required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--small", action="store_true")  # fewer layers and fewer drawn jobs: a tool with sanitizers takes many times as long
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *rest])
