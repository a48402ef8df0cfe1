"""Lightning is stopped in the middle and goes on from a checkpoint; its optimizer has two groups with a rate each."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def shared(self, batch):
        x, y = batch
        out = self.head(self.body(x))
        return nn.functional.cross_entropy(out, y), (out.argmax(1) == y).float().mean()

    def training_step(self, batch, index):
        loss, accuracy = self.shared(batch)
        self.log("accuracy", accuracy)
        return loss

    def validation_step(self, batch, index):
        loss, accuracy = self.shared(batch)
        self.log_dict({"val_loss": loss, "val_accuracy": accuracy})

    def configure_optimizers(self):
        optimizer = torch.optim.SGD([{"params": self.body.parameters(), "lr": args.lr},
                                     {"params": self.head.parameters(), "lr": 5 * args.lr}], momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.3)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


def trainer(steps, folder):
    return L.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=folder,
                     enable_model_summary=False, enable_checkpointing=False, gradient_clip_val=1.0, num_sanity_val_steps=0)


x = torch.randn(480, 10)
y = (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0).long()
train = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=80)
with tempfile.TemporaryDirectory() as folder:
    first = trainer(args.steps // 2, folder)
    first.fit(Model(), train, val)
    first.save_checkpoint(folder + "/half.ckpt")
    second = trainer(args.steps, folder)
    second.fit(Model(), train, val, ckpt_path=folder + "/half.ckpt", weights_only=False)
    print("steps", second.global_step, {k: round(float(v), 3) for k, v in second.callback_metrics.items()})

# SPDX-License-Identifier: Apache-2.0
