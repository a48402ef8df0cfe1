"""Lightning in two stages: an autoencoder first, a classifier on it afterwards."""

import argparse
import logging
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class TwoStages(lightning.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.stage = "code"
        self.encoder = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.BatchNorm1d(48), nn.Linear(48, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 16))
        self.head = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 5))

    def on_train_epoch_start(self):
        if self.stage == "classes":
            self.encoder.eval()

    def training_step(self, batch, index):
        x, y = batch
        if self.stage == "code":
            return nn.functional.mse_loss(self.decoder(self.encoder(x + 0.1 * torch.randn_like(x))), x)
        with torch.no_grad():
            code = self.encoder(x)
        return nn.functional.cross_entropy(self.head(code), y)

    def validation_step(self, batch, index):
        x, y = batch
        if self.stage == "code":
            self.log("error", nn.functional.mse_loss(self.decoder(self.encoder(x)), x))
        else:
            logits = self.head(self.encoder(x))
            self.log("error", nn.functional.cross_entropy(logits, y))
            self.log("right", (logits.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        if self.stage == "code":
            return torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=self.hparams.lr)
        optimizer = torch.optim.SGD(self.head.parameters(), lr=10 * self.hparams.lr, momentum=0.9)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


def trainer(folder, steps, callbacks):
    return lightning.Trainer(max_steps=steps, accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=callbacks,
                             enable_model_summary=False, default_root_dir=folder, num_sanity_val_steps=0)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
labels = torch.randint(5, (800,))
x = (torch.randn(5, 4)[labels] + 0.4 * torch.randn(800, 4)) @ torch.randn(4, 16) + 0.1 * torch.randn(800, 16)
train = DataLoader(TensorDataset(x[:640], labels[:640]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[640:], labels[640:]), batch_size=80)
module = TwoStages(args.lr)
with tempfile.TemporaryDirectory() as folder:
    first = trainer(folder, args.steps // 2, [ModelCheckpoint(folder, "code", save_weights_only=True)])
    first.fit(module, train, valid)
    print(f"code: error {first.callback_metrics['error'].item():.4f}")
    module.stage = "classes"
    best = ModelCheckpoint(folder, "classes", monitor="error")
    second = trainer(folder, args.steps // 2, [best, EarlyStopping("error", patience=2)])
    second.fit(module, train, valid)
    module.load_state_dict(torch.load(best.best_model_path, weights_only=False)["state_dict"])
    print(f"classes: right {second.validate(module, valid, verbose=False)[0]['right']:.4f}")

# SPDX-License-Identifier: Apache-2.0
