# SPDX-License-Identifier: Apache-2.0
"""TrainCheckCallback in real trainings, traced by the collector: it stops a run whose optimizer no longer changes anything.

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
import tempfile
from transformers import Trainer, TrainingArguments
from libtraincheck.transformers import TrainCheckCallback
callback = TrainCheckCallback(invariants or "@all", on_violation=mode)
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(Net(), TrainingArguments(folder, max_steps=steps, per_device_train_batch_size=4, save_strategy="no",
                      report_to="none", disable_tqdm=True, use_cpu=True, logging_steps=10, max_grad_norm=0),
                      train_dataset=Data(), callbacks=[callback])
    trainer.train()
print("STEPS", trainer.state.global_step, len(callback.violations), max(
    [entry.get("traincheck/violations", 0) for entry in trainer.state.log_history]))
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
callback = TrainCheckCallback(invariants or "@all", on_violation=mode)
trainer = lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, callbacks=[callback])
trainer.fit(Module(), torch.utils.data.DataLoader(Data(), batch_size=4))
print("STEPS", trainer.global_step, len(callback.violations), 0)
"""


class Callbacks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)

    def run_tool(self, tool, *arguments):
        p = subprocess.run([OPTIONS.bin / f"traincheck-{tool}", *map(str, arguments)], cwd=self.work, capture_output=True,
                           text=True, timeout=200, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout + p.stderr

    def train(self, trace, *arguments):
        return self.run_tool("collect", "--python", OPTIONS.python, "-o", trace, "train.py", *arguments)

    def steps(self, out):
        return [int(n) for n in next(line for line in out.splitlines() if line.startswith("STEPS")).split()[1:]]

    def assert_stops(self, script):
        (self.work / "train.py").write_text(textwrap.dedent(script))
        healthy = self.train("healthy", -1, "warn", "@pytorch")
        self.assertEqual(self.steps(healthy)[0], 120, healthy)
        self.run_tool("infer", "-q", "healthy", "-o", "i.jsonl")
        out = self.train("broken", 20, "stop", "i.jsonl")
        steps, n, logged = self.steps(out)
        self.assertTrue(20 <= steps < 120, out)
        self.assertGreater(n, 0)
        self.assertIn("libtraincheck WARNING TrainCheck: train.py:", out)
        return logged

    def test_transformers(self):
        self.assertGreater(self.assert_stops(TRANSFORMERS), 0)

    def test_lightning(self):
        self.assert_stops(LIGHTNING)

    def test_a_run_that_is_not_traced_goes_on(self):
        (self.work / "train.py").write_text(LIGHTNING)
        p = subprocess.run([OPTIONS.python, "train.py", "-1", "stop"], cwd=self.work, capture_output=True, text=True)
        self.assertEqual(self.steps(p.stdout), [120, 0, 0], p.stderr)
        self.assertIn("this run is not traced", p.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.bin = OPTIONS.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
