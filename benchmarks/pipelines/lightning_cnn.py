"""Lightning: a module with training and validation steps, OneCycleLR by steps, clipping, a checkpoint of the best."""

import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class LitCNN(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * width, 10),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(-1) == y).float().mean())

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            print(f"val accuracy {self.trainer.callback_metrics['val_acc'].item():.3f}")

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        steps = self.trainer.estimated_stepping_batches
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, total_steps=steps)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]


def main():
    args = options(lr=0.1, width=12, steps=42)
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    train_loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=100, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=200)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_epochs=max(2, args.steps // len(train_loader)), accelerator="cpu", devices=1, logger=False,
            gradient_clip_val=1.0, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
            callbacks=[ModelCheckpoint(folder, monitor="val_loss")],
        )  # fmt: skip
        trainer.fit(LitCNN(args.width, args.lr), train_loader, val_loader)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
