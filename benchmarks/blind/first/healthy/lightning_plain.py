"""Lightning with a warm-up in `optimizer_step` and weights averaged in a callback."""

import argparse
import copy
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)


class Average(L.Callback):
    def on_train_start(self, trainer, module):
        self.model = copy.deepcopy(module.net).requires_grad_(False)

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, *rest):
        for a, p in zip(self.model.parameters(), module.net.parameters()):
            a.lerp_(p, 0.1)


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=args.lr)

    def optimizer_step(self, epoch, index, optimizer, closure):
        if self.trainer.global_step < 10:
            for group in optimizer.param_groups:
                group["lr"] = args.lr * (self.trainer.global_step + 1) / 10
        optimizer.step(closure=closure)


x = torch.randn(320, 8)
loader = DataLoader(TensorDataset(x, (x[:, 0] > x[:, 1]).long()), batch_size=32, shuffle=True)
trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, callbacks=[Average()])
trainer.fit(Module(), loader)
print(f"steps {trainer.global_step}")

# SPDX-License-Identifier: Apache-2.0
