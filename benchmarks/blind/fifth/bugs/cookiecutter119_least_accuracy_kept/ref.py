"""Lightning trains a classifier, keeps the checkpoint of the greatest accuracy and takes it for the test."""

import argparse
import logging
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 6))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=args.lr)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(6, 16)
label = torch.randint(6, (960,))
x = centres[label] + 1.2 * torch.randn(960, 16)
train = DataLoader(TensorDataset(x[:480], label[:480]), batch_size=48, shuffle=True)
valid = DataLoader(TensorDataset(x[480:720], label[480:720]), batch_size=120)
with tempfile.TemporaryDirectory() as folder:
    keep = ModelCheckpoint(dirpath=folder, monitor="val_acc", mode="max", save_top_k=1)
    trainer = lightning.Trainer(max_steps=args.steps, accelerator="cpu", devices=1, logger=False, callbacks=[keep],
                                enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
                                log_every_n_steps=1)
    model = Classifier()
    trainer.fit(model, train, valid)
    kept = torch.load(keep.best_model_path, weights_only=False)
    model.load_state_dict(kept["state_dict"])
model.eval()
with torch.no_grad():
    right = (model.net(x[720:]).argmax(1) == label[720:]).float().mean().item()
print(f"EVIDENCE the kept checkpoint is of epoch {kept['epoch']}, step {kept['global_step']}: accuracy {right:.3f} in the test")

# SPDX-License-Identifier: Apache-2.0
