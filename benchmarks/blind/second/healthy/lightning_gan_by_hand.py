"""Lightning with two optimizers by hand: the discriminator's weights are frozen while the generator learns."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)


class GAN(L.LightningModule):
    def __init__(self, noise=4):
        super().__init__()
        self.automatic_optimization = False
        self.noise = noise
        self.generator = nn.Sequential(nn.Linear(noise, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(32, 1))

    def judge(self, x, real):
        target = torch.full((len(x), 1), 0.9 if real else 0.0)
        return nn.functional.binary_cross_entropy_with_logits(self.discriminator(x), target)

    def training_step(self, batch, index):
        (real,) = batch
        first, second = self.optimizers()
        z = torch.randn(len(real), self.noise)

        self.toggle_optimizer(first)
        fake = self.generator(z)
        loss = nn.functional.binary_cross_entropy_with_logits(self.discriminator(fake), torch.ones(len(real), 1))
        self.manual_backward(loss)
        first.step()
        first.zero_grad()
        self.untoggle_optimizer(first)

        self.toggle_optimizer(second)
        loss = (self.judge(real, True) + self.judge(fake.detach(), False)) / 2
        self.manual_backward(loss)
        second.step()
        second.zero_grad()
        self.untoggle_optimizer(second)
        self.last = loss.item()

    def on_train_epoch_end(self):
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def configure_optimizers(self):
        optimizers = [torch.optim.Adam(m.parameters(), lr=args.lr * f, betas=(0.5, 0.999))
                      for m, f in ((self.generator, 1.0), (self.discriminator, 2.0))]
        return optimizers, [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in optimizers]


angle = torch.rand(512) * 6.2832
data = torch.stack([angle.cos(), angle.sin()], 1)
model = GAN()
trainer = L.Trainer(max_steps=2 * args.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(data), batch_size=64, shuffle=True, drop_last=True))
print(f"discriminator's loss {model.last:.3f}")

# SPDX-License-Identifier: Apache-2.0
