"""Lightning with several callbacks that change how and how long it trains."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, ModelCheckpoint, StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Regressor(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def step(self, batch, name):
        x, y = batch
        loss = nn.functional.huber_loss(self.net(x).squeeze(1), y)
        self.log(name, loss, prog_bar=False, on_epoch=True, on_step=False)
        return loss

    def training_step(self, batch, index):
        return self.step(batch, "train_loss")

    def validation_step(self, batch, index):
        self.step(batch, "val_loss")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)


class CountSteps(L.Callback):
    def __init__(self):
        self.steps = 0

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.steps += 1


warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)
x = torch.randn(224, 8)
y = x[:, 0] * x[:, 1] + x[:, 2:].sum(1)
train = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[160:], y[160:]), batch_size=32)
count = CountSteps()
with tempfile.TemporaryDirectory() as folder:
    callbacks = [EarlyStopping("val_loss", patience=3), GradientAccumulationScheduler({0: 1, 2: 2}),
                 ModelCheckpoint(folder, monitor="val_loss", save_top_k=1), count,
                 StochasticWeightAveraging(swa_lrs=args.lr / 2, swa_epoch_start=3, annealing_epochs=1)]
    trainer = L.Trainer(max_epochs=args.steps // 8, accelerator="cpu", devices=1, logger=False, callbacks=callbacks,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0, num_sanity_val_steps=1)
    trainer.fit(Regressor(args.lr), train, val)
print(f"{count.steps} steps, validation loss {trainer.callback_metrics['val_loss']:.3f}")

# SPDX-License-Identifier: Apache-2.0
