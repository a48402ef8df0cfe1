"""Lightning keeps the checkpoint of the best validation and tests it; few data, much capacity."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Regressor(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))

    def _loss(self, batch):
        x, y = batch
        return F.mse_loss(self.net(x).squeeze(-1), y)

    def training_step(self, batch, batch_idx):
        return self._loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._loss(batch), batch_size=len(batch[0]))

    def test_step(self, batch, batch_idx):
        self.log("test_loss", self._loss(batch), batch_size=len(batch[0]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Told(L.Callback):
    def on_validation_epoch_end(self, trainer, module):
        if trainer.current_epoch % 10 == 9:
            print(f"epoch {trainer.current_epoch + 1}: val_loss {trainer.callback_metrics['val_loss'].item():.4f}")


def data(count, generator):
    x = torch.randn(count, 10, generator=generator)
    y = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.7 * torch.randn(count, generator=generator)
    return TensorDataset(x, y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    generator = torch.Generator().manual_seed(args.seed)
    train, valid, test = (data(count, generator) for count in (128, 300, 600))
    module = Regressor(args.lr)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = ModelCheckpoint(dirpath=folder, monitor="val_loss", mode="min", save_top_k=1)
        trainer = L.Trainer(
            max_steps=args.steps, accelerator="cpu", devices=1, logger=False, callbacks=[checkpoint, Told()],
            enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(module, DataLoader(train, batch_size=16, shuffle=True), DataLoader(valid, batch_size=100))
        result = trainer.test(module, DataLoader(test, batch_size=100), ckpt_path="best", verbose=False)
    best = checkpoint.best_model_score.item()
    print(f"EVIDENCE test loss {result[0]['test_loss']:.4f}, best val_loss {best:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
