"""Lightning trains a classifier with a cosine schedule over all steps."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.last = loss.detach()
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=args.lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]


warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)
x = torch.randn(160, 10)
y = (x @ torch.randn(10, 3)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = Classifier()
trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, loader)
rate = trainer.optimizers[0].param_groups[0]["lr"]
print(f"EVIDENCE rate at the end {rate:.6f} of {args.lr}, loss {model.last:.3f}")

# SPDX-License-Identifier: Apache-2.0
