"""Lightning validates twice in an epoch, gathers gradients from the third epoch on, averages weights and may stop early."""

import argparse
import logging
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
PER_EPOCH = 15


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))
        self.errors = []

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        if torch.rand(()) < 0.05:
            return None
        return loss

    def on_before_optimizer_step(self, optimizer):
        norms = [p.grad.norm() for p in self.parameters() if p.grad is not None]
        self.log("norm", torch.stack(norms).norm() if norms else torch.zeros(()))

    def validation_step(self, batch, index):
        x, y = batch
        error = nn.functional.mse_loss(self.net(x), y)
        self.log("error", error, on_epoch=True)
        self.errors.append(round(error.item(), 4))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=args.lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 6], 0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(24 * PER_EPOCH + 200, 10)
y = torch.sin(x @ torch.randn(10) / 3) + 0.2 * torch.randn(len(x))
train = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=24, shuffle=True)
valid = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=200)
epochs = max(4, args.steps // PER_EPOCH)
model = Regression()
trainer = lightning.Trainer(max_epochs=epochs, accelerator="cpu", devices=1, logger=False, val_check_interval=0.5,
                            gradient_clip_val=1.0, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, log_every_n_steps=5,
                            callbacks=[GradientAccumulationScheduler({2: 2}), StochasticWeightAveraging(args.lr / 4, 0.75),
                                       EarlyStopping("error", patience=8)])
trainer.fit(model, train, valid)
print(f"errors {model.errors} in {trainer.global_step} steps")

# SPDX-License-Identifier: Apache-2.0
