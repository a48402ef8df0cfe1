# SPDX-License-Identifier: Apache-2.0
"""benchmarks/collect/calls.py --instructions: a traced call executes no more than is said here above the plain one.

Instructions are counted by valgrind, so that what else the machine does is no matter. Without valgrind, or with other releases of
Python and torch than the bounds are of, the exit status is 77."""

import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CALLS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "collect" / "calls.py"
BIN = pathlib.Path(os.environ["TRAINCHECK_BIN"])
# {kind: (in the thread that calls, in all)}: a tenth above what was counted with CPython 3.11 and torch 2.13; in all a quarter
# above the most, as it varies how many frames of the trace are packed meanwhile.
BOUNDS = {
    "Python function: F.dropout": (5500, 23000),
    "builtin: torch.ones_like": (4800, 19500),
    "method: Tensor.zero_": (3300, 14500),
    "layer: nn.Identity": (5700, 21500),
    "layer with a function: nn.Linear": (13100, 51000),
    "operator: x + x": (5600, 21500),
    "operator beside forwards: x + x": (5600, 25500),
    "operator: torch.neg": (7700, 21500),
    "function of numpy: numpy.mean": (5800, 20000),
    "function of the script": (4300, 18500),
}


class Instructions(unittest.TestCase):
    def test_a_call_stays_within_its_bound(self):
        with tempfile.TemporaryDirectory(prefix="tc-instructions-") as folder:
            out = pathlib.Path(folder) / "above.json"
            p = subprocess.run([sys.executable, "-B", CALLS, "--bin", BIN, "--instructions", "--json", out],
                               capture_output=True, text=True)
            self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
            above = json.loads(out.read_text())
        self.assertEqual(list(above), list(BOUNDS))
        for kind, bounds in BOUNDS.items():
            with self.subTest(kind):
                self.assertEqual([n for n, bound in zip(above[kind], bounds) if not 0 < n <= bound], [], f"of {bounds}\n{p.stdout}")


def lacks():
    """Why nothing can be held against the bounds here; "" if it can."""
    if not shutil.which("valgrind"):
        return "there is no valgrind, which counts instructions"
    if sys.version_info[:2] != (3, 11) or not importlib.metadata.version("torch").startswith("2.13."):
        return "the bounds are those of CPython 3.11 and torch 2.13"
    return ""


if __name__ == "__main__":
    if lacks():
        print(lacks())
        sys.exit(77)
    unittest.main()
