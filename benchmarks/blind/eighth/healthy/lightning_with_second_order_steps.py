"""Lightning with L-BFGS: the closure and so the training step run many times for a batch; a penalty comes in later."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Smooth(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr, self.evaluations = lr, 0
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)

    def training_step(self, batch, index):
        x, y = batch
        self.evaluations += 1
        loss = F.mse_loss(self(x), y)
        if self.current_epoch >= 6:
            loss = loss + 1e-5 * sum(p.pow(2).sum() for p in self.net.parameters() if p.ndim == 2)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("error", F.mse_loss(self(x), y))

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            error = self.trainer.callback_metrics["error"].item()
            print(f"epoch {self.current_epoch}, step {self.global_step}: error {error:.5f}, {self.evaluations} evaluations")

    def configure_optimizers(self):
        optimizer = torch.optim.LBFGS(self.parameters(), lr=self.lr, max_iter=8, history_size=10, line_search_fn="strong_wolfe")
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.8)
    parser.add_argument("--steps", type=int, default=48)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    x = torch.rand(1000, 2) * 2 - 1
    y = torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) + 0.02 * torch.randn(1000)
    train = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=200, shuffle=True)
    valid = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=200)
    trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, check_val_every_n_epoch=3)
    trainer.fit(Smooth(args.lr), train, valid)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
