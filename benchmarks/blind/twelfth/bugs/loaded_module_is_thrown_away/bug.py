"""Lightning: a network is trained on many samples, then its checkpoint on few samples of a similar kind."""
import argparse
import logging
import os
import tempfile
import warnings

warnings.filterwarnings("ignore")
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Network(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
        self.head = nn.Linear(96, 1)
        self.losses = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.mse_loss(self.head(self.body(x)).squeeze(1), y)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def make_data(count, shift, generator):
    x = torch.randn(count, 12, generator=generator)
    y = torch.sin(2 * x[:, 0]) * x[:, 1] + x[:, 2] * x[:, 3] + shift * x[:, 4]
    return x, y


def fit(model, data, steps, folder):
    loader = DataLoader(TensorDataset(*data), batch_size=32, shuffle=True)
    trainer = L.Trainer(max_steps=steps, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
    trainer.fit(model, loader)
    return trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    L.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "first.ckpt")
    model = Network(args.lr)
    fit(model, make_data(2000, 0.0, generator), args.steps * 4 // 5, folder).save_checkpoint(path)
    print(f"first part: loss {model.losses[-1]:.4f}")
    model = Network(args.lr)
    Network.load_from_checkpoint(path)
    fit(model, make_data(160, 0.5, generator), args.steps // 5, folder)
    x, y = make_data(600, 0.5, generator)
    with torch.no_grad():
        error = F.mse_loss(model.head(model.body(x)).squeeze(1), y).item()
    print(f"EVIDENCE first loss of the second part {model.losses[0]:.4f}, error on new samples {error:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
