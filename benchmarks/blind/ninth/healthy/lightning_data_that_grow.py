"""Lightning with a data module whose loaders are made anew every second epoch: labels come in over time."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class ArrivingDigits(L.LightningDataModule):
    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def setup(self, stage):
        x, y = load_digits(return_X_y=True)
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(self.seed))
        x, y = torch.tensor(x / 16, dtype=torch.float32)[order], torch.tensor(y)[order]
        if stage == "fit":
            self.pool, self.valid = (x[:1200], y[:1200]), TensorDataset(x[1200:1500], y[1200:1500])
        if stage == "test":
            self.test = TensorDataset(x[1500:], y[1500:])

    def train_dataloader(self):
        labelled = min(1200, 150 * (1 + self.trainer.current_epoch // 2))
        return DataLoader(TensorDataset(self.pool[0][:labelled], self.pool[1][:labelled]), batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=100)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=100)


class Classifier(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
        self.right = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        if torch.rand(()).item() < 0.2:
            x = x + 0.05 * torch.randn_like(x)
        loss = F.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.right.append((self.net(x).argmax(1) == y).float())

    test_step = validation_step

    def on_validation_epoch_end(self):
        accuracy = torch.cat(self.right).mean()
        self.right.clear()
        self.log("accuracy", accuracy)
        print(f"epoch {self.current_epoch}, step {self.global_step}: accuracy {accuracy.item():.3f}")

    def on_test_epoch_end(self):
        print(f"test accuracy {torch.cat(self.right).mean().item():.3f}")
        self.right.clear()

    def on_before_optimizer_step(self, optimizer):
        if self.global_step % 40 == 0:
            self.log("grad_norm", torch.cat([p.grad.flatten() for p in self.parameters()]).norm())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1, factor=0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "accuracy", "frequency": 2}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_steps=args.steps, accelerator="cpu", devices=1, reload_dataloaders_every_n_epochs=2, log_every_n_steps=10,
            gradient_clip_val=2.0, logger=CSVLogger(folder), check_val_every_n_epoch=2, num_sanity_val_steps=0,
            callbacks=[ModelCheckpoint(folder, monitor="accuracy", mode="max"), LearningRateMonitor()],
            enable_progress_bar=False, enable_model_summary=False)
        data = ArrivingDigits(args.seed)
        trainer.fit(Classifier(args.lr), datamodule=data)
        trainer.test(ckpt_path="best", datamodule=data, verbose=False)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
