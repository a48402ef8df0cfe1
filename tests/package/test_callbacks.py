# SPDX-License-Identifier: Apache-2.0
"""TrainCheckCallback in real trainings, traced by the collector: it stops a run whose optimizer no longer changes anything, and is
no part of what is judged itself.

usage: test_callbacks.py --bin BUILD/bin --python PYTHON
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from warm import warm_frameworks  # noqa: E402

OPTIONS = None
SHARED = """
import logging, sys, time, torch
from torch import nn
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
freeze_at, mode, invariants, steps = int(sys.argv[1]), sys.argv[2], sys.argv[3:], 120
torch.manual_seed(0); torch.set_num_threads(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.head = 0, nn.Linear(4, 2)
    def forward(self, x, labels=None):
        time.sleep(0.03 if freeze_at >= 0 else 0)  # so that the check sees it well before the end
        self.steps += 1
        loss = nn.functional.cross_entropy(self.head(x), labels)
        return {"loss": loss if freeze_at < 0 or self.steps < freeze_at else loss.detach().requires_grad_()}
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4 * steps
    def __getitem__(self, i): return {"x": torch.randn(4, generator=torch.Generator().manual_seed(i)), "labels": i % 2}
"""
TRANSFORMERS = SHARED + """
from transformers import Trainer, TrainingArguments
from libtraincheck.transformers import TrainCheckCallback
callback = None if mode == "none" else TrainCheckCallback(invariants or "@all", on_violation=mode)
trainer = Trainer(Net(), TrainingArguments("checkpoints", max_steps=steps, per_device_train_batch_size=4, save_strategy="no",
                  report_to="none", disable_tqdm=True, use_cpu=True, logging_steps=10, max_grad_norm=0),
                  train_dataset=Data(), callbacks=[callback] if callback else None)
try:
    trainer.train()
finally:
    print("STEPS", trainer.state.global_step, len(callback.violations) if callback else 0, max(
        [entry.get("traincheck/violations", 0) for entry in trainer.state.log_history], default=0))
"""
LIGHTNING = SHARED + """
import lightning, warnings
from libtraincheck.lightning import TrainCheckCallback
warnings.filterwarnings("ignore")
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, i): return self.net(**batch)["loss"]
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
callback = None if mode == "none" else TrainCheckCallback(invariants or "@all", on_violation=mode)
trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, callbacks=[callback] if callback else None)
try:
    trainer.fit(Module(), torch.utils.data.DataLoader(Data(), batch_size=4))
finally:
    print("STEPS", trainer.global_step, len(callback.violations) if callback else 0, 0)
"""


class Callbacks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)

    def run_tool(self, tool, *arguments, status=0):
        p = subprocess.run([OPTIONS.bin / f"traincheck-{tool}", *map(str, arguments)], cwd=self.work, capture_output=True,
                           text=True, timeout=200, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(p.returncode, status, p.stdout + p.stderr)
        return p.stdout + p.stderr

    def train(self, trace, *arguments, status=0):
        return self.run_tool("collect", "--python", OPTIONS.python, "-o", trace, "train.py", *arguments, status=status)

    def steps(self, out):
        return [int(n) for n in next(line for line in out.splitlines() if line.startswith("STEPS")).split()[1:]]

    def assert_stops(self, script):
        """What the job says, from its first finding on, when it has stopped for it; and what it logged."""
        (self.work / "train.py").write_text(textwrap.dedent(script))
        healthy = self.train("healthy", -1, "warn", "@pytorch")
        self.assertEqual(self.steps(healthy)[0], 120, healthy)
        self.run_tool("infer", "-q", "healthy", "-o", "i.jsonl")
        out = self.train("broken", 20, "stop", "i.jsonl", status=1)
        steps, n, logged = self.steps(out)
        self.assertTrue(20 <= steps < 120, out)
        self.assertGreater(n, 0)
        warnings = [line for line in out.splitlines() if line.startswith("libtraincheck WARNING")]
        places = [line.removeprefix("libtraincheck WARNING TrainCheck: ") for line in warnings[:-1]]
        self.assertGreater(len(places), 0, out)
        self.assertTrue(all(place.startswith("train.py:") for place in places), out)
        self.assertLess(len(places), n, out)  # causes, not invariants
        self.assertEqual(len({place.partition(" (")[0] for place in places}), len(places), out)  # each once
        self.assertRegex(warnings[-1], r"TrainCheck: \d+ invariants: \d+ failed, ")
        self.assertRegex(out, r"(?m)^TrainCheck stopped the training: train\.py:\d+: .* \(\d+ broken invariants?\)$")
        self.assertNotIn("Traceback", out)
        return logged

    def assert_is_no_part(self, script):
        """Of a run that is judged by the settings of one without it."""
        (self.work / "train.py").write_text(textwrap.dedent(script))
        self.train("without", -1, "none")
        self.run_tool("infer", "-q", "--specific", "without", "-o", "s.jsonl")
        out = self.train("with", -1, "stop", "s.jsonl")
        self.assertEqual(self.steps(out), [120, 0, 0])
        said = self.run_tool("check", "with", "-i", "s.jsonl")
        self.assertRegex(said, r" [1-9]\d* invariants: 0 failed, ")
        self.assertIn(": 0 differences, ", self.run_tool("check", "with", "--against", "without", "-o", "compared"))

    def assert_needs_its_invariants(self, script):
        (self.work / "train.py").write_text(textwrap.dedent(script))
        out = self.train("trace", -1, "warn", "nowhere.jsonl", status=1)
        self.assertEqual(self.steps(out), [0, 0, 0], out)
        self.assertIn("FileNotFoundError: nowhere.jsonl: No such file or directory", out)

    def test_transformers(self):
        self.assertGreater(self.assert_stops(TRANSFORMERS), 0)

    def test_lightning(self):
        self.assert_stops(LIGHTNING)

    def test_it_is_no_part_of_what_is_judged(self):
        for name, script in (("lightning", LIGHTNING), ("transformers", TRANSFORMERS)):
            with self.subTest(name):
                self.setUp()
                self.assert_is_no_part(script)

    def test_a_run_whose_invariants_are_missing_does_not_begin(self):
        for name, script in (("lightning", LIGHTNING), ("transformers", TRANSFORMERS)):
            with self.subTest(name):
                self.setUp()
                self.assert_needs_its_invariants(script)

    def test_a_run_that_is_not_traced_goes_on(self):
        (self.work / "train.py").write_text(LIGHTNING)
        p = subprocess.run([OPTIONS.python, "train.py", "-1", "stop"], cwd=self.work, capture_output=True,
                           text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(self.steps(p.stdout), [120, 0, 0], p.stderr)
        self.assertIn("this run is not traced", p.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.bin = OPTIONS.bin.resolve()
    OPTIONS.python = warm_frameworks(OPTIONS.python)
    unittest.main(argv=[sys.argv[0], *rest])
