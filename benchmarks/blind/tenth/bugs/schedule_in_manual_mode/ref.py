"""Lightning with manual optimisation: an autoencoder and a classifier on its code, each with an optimizer and a schedule."""

import argparse
import logging
import tempfile
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class CodeAndClass(lightning.LightningModule):
    def __init__(self, lr, steps):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 20))
        self.head = nn.Linear(8, 5)
        self.rates = []

    def training_step(self, batch, index):
        x, y = batch
        code_optimizer, head_optimizer = self.optimizers()
        self.rates.append(code_optimizer.param_groups[0]["lr"])
        code = self.encoder(x)
        error = nn.functional.mse_loss(self.decoder(code), x)
        code_optimizer.zero_grad()
        self.manual_backward(error)
        code_optimizer.step()
        loss = nn.functional.cross_entropy(self.head(code.detach()), y)
        head_optimizer.zero_grad()
        self.manual_backward(loss)
        head_optimizer.step()
        self.log_dict({"error": error, "loss": loss})
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def validation_step(self, batch, index):
        x, y = batch
        code = self.encoder(x)
        self.log("val_error", nn.functional.mse_loss(self.decoder(code), x))
        self.log("val_right", (self.head(code).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        optimizers = [torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=self.hparams.lr),
                      torch.optim.Adam(self.head.parameters(), lr=self.hparams.lr)]
        schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=self.hparams.steps) for o in optimizers]
        return optimizers, [{"scheduler": s, "interval": "step"} for s in schedulers]


def main():
    lightning.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    labels = torch.randint(5, (1000,))
    x = (torch.randn(5, 6)[labels] + 0.5 * torch.randn(1000, 6)) @ torch.randn(6, 20) + 0.2 * torch.randn(1000, 20)
    train = DataLoader(TensorDataset(x[:800], labels[:800]), batch_size=32, shuffle=True)
    valid = DataLoader(TensorDataset(x[800:], labels[800:]), batch_size=100)
    module = CodeAndClass(args.lr, args.steps)
    with tempfile.TemporaryDirectory() as folder:
        # two optimizers step for each batch, and the trainer counts both
        trainer = lightning.Trainer(max_steps=2 * args.steps, accelerator="cpu", logger=False, enable_progress_bar=False,
                                    enable_checkpointing=False, enable_model_summary=False, default_root_dir=folder)
        trainer.fit(module, train, valid)
        result = trainer.validate(module, valid, verbose=False)[0]
    print(f"EVIDENCE last rate {module.rates[-1]:.6f} of {len(module.rates)}, error {result['val_error']:.4f}, "
          f"right {result['val_right']:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
