"""Counts of visitors by hour and weather, a LightningModule whose network gives the rate of a Poisson law."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()


class CountModel(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1), nn.Softplus())
        self.loss = nn.PoissonNLLLoss()

    def forward(self, x):
        return self.net(x).squeeze(1)

    def training_step(self, batch, index):
        x, count = batch
        loss = self.loss(self(x), count)
        self.log("train_loss", loss, prog_bar=False)
        return loss

    def validation_step(self, batch, index):
        x, count = batch
        rate = self(x)
        self.log("mae", (rate - count).abs().mean())
        self.log("rate", rate.mean())
        self.log("count", count.mean())

    def on_validation_epoch_end(self):
        metrics = self.trainer.callback_metrics
        print(f"step {self.global_step}: mean rate {metrics['rate']:.3f}, absolute error {metrics['mae']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


torch.set_num_threads(1)
L.seed_everything(args.seed, verbose=False)
hour, rest = torch.rand(2400) * 24, torch.randn(2400, 2)
x = torch.cat([torch.sin(hour * 0.2618)[:, None], torch.cos(hour * 0.2618)[:, None], rest], 1)
count = torch.poisson((1.4 + 0.8 * x[:, 0] - 0.3 * x[:, 2]).exp())
train = DataLoader(TensorDataset(x[:2000], count[:2000]), batch_size=50, shuffle=True)
valid = DataLoader(TensorDataset(x[2000:], count[2000:]), batch_size=100)
model = CountModel(args.lr)
trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, check_val_every_n_epoch=2)
trainer.fit(model, train, valid)
metrics = trainer.validate(model, valid, verbose=False)[0]
print(f"EVIDENCE mean rate {metrics['rate']:.3f}, mean count {metrics['count']:.3f}, absolute error {metrics['mae']:.3f}")

# SPDX-License-Identifier: Apache-2.0
