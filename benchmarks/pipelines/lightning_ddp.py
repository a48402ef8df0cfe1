"""Lightning with its data-parallel strategy on two ranks under torchrun: a regression, StepLR by epochs, validation."""

import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Regression(L.LightningModule):
    def __init__(self, width, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Linear(10, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(0.1), nn.Linear(width, 1), nn.Flatten(0)
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.huber_loss(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self(x), y), sync_dist=True)

    def on_validation_epoch_end(self):
        loss = self.all_gather(self.trainer.callback_metrics["val_loss"]).mean().item()
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            print(f"validation {loss:.3f}", flush=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)]


def main():
    args = options(lr=2e-2, width=32, steps=44)
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    raw = load_diabetes()
    x = torch.tensor(raw.data * 20, dtype=torch.float32)
    y = torch.tensor((raw.target - raw.target.mean()) / raw.target.std(), dtype=torch.float32)
    train_loader = DataLoader(TensorDataset(x[:352], y[:352]), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[352:], y[352:]), batch_size=45)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_epochs=max(2, args.steps // 11), accelerator="cpu", devices=2, strategy="ddp", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
            gradient_clip_val=1.0,
        )  # fmt: skip
        trainer.fit(Regression(args.width, args.lr), train_loader, val_loader)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
