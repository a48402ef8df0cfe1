# SPDX-License-Identifier: Apache-2.0
"""%%traincheck in notebooks that a real kernel executes.

usage: test_magic.py --bin BUILD/bin --python PYTHON

Runs in an environment with nbclient and ipykernel, with torch on its path, which PYTHON has, too.
"""

import argparse
import itertools
import os
import pathlib
import sys
import tempfile
import unittest

import nbformat
from nbclient import NotebookClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from warm import warm_python  # noqa: E402

PYTHON = None
LOAD = "%load_ext libtraincheck"
TRAIN = """
import torch, beside
torch.manual_seed(0)
net, data = torch.nn.Linear(4, 2), torch.randn(8, 4)
optimizer = torch.optim.SGD({parameters}, lr=0.1)
for step in range(10):
    optimizer.zero_grad()
    loss = net(data).square().mean()
    loss.backward()
    optimizer.step()
print("the loss is a number:", loss.item() == loss.item())
"""
HEALTHY, BROKEN = TRAIN.format(parameters="net.parameters()"), TRAIN.format(parameters="[net.weight.detach().clone()]")


class Magic(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)
        (self.work / "beside.py").write_text("")

    def execute(self, *cells, python=None):
        """The outputs of each cell: its text, and the HTML of its value. What magic starts is `python`, or a warm one."""
        load = f"import sys; sys.executable = {str(python or PYTHON)!r}"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (load, LOAD, *cells)])
        NotebookClient(notebook, timeout=240, kernel_name="python3", allow_errors=True,
                       resources={"metadata": {"path": str(self.work)}}).execute()
        return [cell.outputs for cell in notebook.cells[2:]]

    def text(self, outputs):
        return "".join(o.get("text", "") or "\n".join(o.get("traceback", [])) for o in outputs)

    def value(self, outputs):
        values = [o["data"] for o in outputs if o["output_type"] == "execute_result"]
        self.assertEqual(len(values), 1, outputs)
        return values[0]

    def test_learn_then_find(self):
        learn = "import libtraincheck; print(libtraincheck.infer('healthy', 'i.jsonl').invariants)"
        traced, again, learned, found, used = self.execute(
            "%%traincheck -o healthy\n" + HEALTHY, "%%traincheck -o healthy\n" + HEALTHY, learn,
            "%%traincheck -i i.jsonl\n" + BROKEN, "print([f.at for f in _.findings][:1], _.failed > 0)")
        for outputs in (traced, again):
            self.assertIn("the loss is a number: True", self.text(outputs))
            self.assertIn(" 0 failed", self.value(outputs)["text/plain"])
        self.assertGreater(int(self.text(learned)), 10)
        page = self.value(found)["text/html"]
        self.assertIn("<td style='text-align: left'>cell.py:", page)
        self.assertNotIn("raw=", self.value(found)["text/plain"])
        self.assertIn("cell.py:", self.text(used))
        self.assertIn("True", self.text(used))
        self.assertEqual(sorted(path.name for path in self.work.iterdir() if path.name[0] not in "._"),
                         ["beside.py", "healthy", "i.jsonl"])

    def test_what_a_cell_does_wrong(self):
        failing, option, nothing = self.execute("%%traincheck\nimport torch\nraise SystemExit(3)", "%%traincheck --nonsense\n1",
                                                "%%traincheck -i nowhere.jsonl\n1")
        self.assertIn("The cell ended with status 3.", self.text(failing))
        self.assertNotIn("nothing was judged", str(failing))
        self.assertIn("unrecognized arguments: --nonsense", self.text(option))
        self.assertIn("nowhere.jsonl", self.text(nothing))

    def test_a_cell_that_raises(self):
        """Its traceback comes first, then what was judged; the notebook's cell has failed, for one reason."""
        raising, nowhere = self.execute("%%traincheck\n" + HEALTHY + "raise ValueError('of the cell')", "%%traincheck\n1 / 0")
        kinds = [kind for kind, _ in itertools.groupby(o["output_type"] for o in raising)]
        self.assertEqual(kinds, ["stream", "display_data", "error"], raising)
        said, (report, error) = "".join(o["text"] for o in raising[:-2]), raising[-2:]
        self.assertRegex(said, r'(?s)  File "cell\.py", line \d+, in <module>\n.*ValueError: of the cell\n')
        self.assertIn(" 0 failed", report["data"]["text/plain"])
        self.assertEqual(error["traceback"], ["The cell ended with status 1."])
        self.assertEqual({o["output_type"] for o in nowhere}, {"stream", "error"}, nowhere)  # nothing was judged
        self.assertIn("ZeroDivisionError", self.text(nowhere))

    def test_what_was_learned_is_short(self):
        healthy, learned = self.execute("%%traincheck -o healthy\n" + HEALTHY,
                                        "import libtraincheck; libtraincheck.infer('healthy', 'i.jsonl')", python=sys.executable)
        self.assertRegex(self.value(learned)["text/plain"], r"^<Learned: \d+ invariants of 1 pipeline, in i\.jsonl>$")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    options, rest = parser.parse_known_args()
    PYTHON = warm_python(options.python, ["sklearn.datasets"], OMP_NUM_THREADS="1")
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["PATH"] = f"{options.bin.resolve()}:{os.environ['PATH']}"
    unittest.main(argv=[sys.argv[0], *rest])
