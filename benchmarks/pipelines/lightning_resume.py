"""Lightning: a recurrent regressor whose fit is resumed from a checkpoint; accumulation, ReduceLROnPlateau by epochs."""

import logging
import math
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from options import options

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Waves(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        phase, speed = torch.rand(n, 1, generator=g) * 6, 0.2 + torch.rand(n, 1, generator=g)
        wave = torch.sin(phase + speed * torch.arange(25.0) / math.pi) + 0.05 * torch.randn(n, 25, generator=g)
        self.x, self.y = wave[:, :-1, None], wave[:, -1]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Data(L.LightningDataModule):
    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def setup(self, stage):
        self.train_set, self.val_set = Waves(512, self.seed), Waves(128, self.seed + 1)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=64)


class Forecaster(L.LightningModule):
    def __init__(self, hidden, lr):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.loss = nn.HuberLoss()

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", self.loss(self(x), y))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"}}


def trainer(folder, epochs):
    return L.Trainer(
        max_epochs=epochs, accelerator="cpu", devices=1, logger=False, accumulate_grad_batches=2,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder, enable_checkpointing=False,
    )  # fmt: skip


def main():
    args = options(lr=1e-2, width=24, steps=40)
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    epochs = max(2, args.steps // 8)
    with tempfile.TemporaryDirectory() as folder:
        first = trainer(folder, epochs // 2)
        first.fit(Forecaster(args.width, args.lr), datamodule=Data(args.seed))
        first.save_checkpoint(f"{folder}/last.ckpt")
        print(f"val loss {first.callback_metrics['val_loss'].item():.4f}")
        second = trainer(folder, epochs)
        second.fit(Forecaster(args.width, args.lr), datamodule=Data(args.seed), ckpt_path=f"{folder}/last.ckpt")
        print(f"val loss {second.callback_metrics['val_loss'].item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
