"""Lightning with manual optimization: two models and two optimizers, toggled, clipped and stepped by the module itself."""

import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Adversarial(L.LightningModule):
    """An autoencoder whose code a critic holds against a normal distribution."""

    def __init__(self, width, lr):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.LeakyReLU(0.1), nn.Linear(width, 6))
        self.decoder = nn.Sequential(nn.Linear(6, width), nn.LeakyReLU(0.1), nn.Linear(width, 64))
        self.critic = nn.Sequential(nn.Linear(6, width), nn.LeakyReLU(0.1), nn.Dropout(0.1), nn.Linear(width, 1))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def descend(self, optimizer, loss):
        optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        self.untoggle_optimizer(optimizer)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        auto, critic = self.optimizers()
        self.toggle_optimizer(critic)
        code = self.encoder(x).detach()
        scores = torch.cat([self.critic(torch.randn_like(code)), self.critic(code)])
        labels = torch.cat([torch.ones(len(x), 1), torch.zeros(len(x), 1)])
        self.descend(critic, F.binary_cross_entropy_with_logits(scores, labels))
        self.toggle_optimizer(auto)
        code = self.encoder(x)
        fooled = F.binary_cross_entropy_with_logits(self.critic(code), torch.ones(len(x), 1))
        self.descend(auto, F.mse_loss(self.decoder(code), x) + 0.02 * fooled)

    def on_train_epoch_end(self):
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        self.log("val_error", F.mse_loss(self(x), x))

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            print(f"error {self.trainer.callback_metrics['val_error'].item():.4f}")

    def configure_optimizers(self):
        auto = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=self.lr)
        critic = torch.optim.Adam(self.critic.parameters(), lr=self.lr / 2)
        schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in (auto, critic)]
        return [auto, critic], schedulers


def main():
    args = options(lr=4e-3, width=48, steps=56)
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train_loader = DataLoader(TensorDataset(x[:1440]), batch_size=60, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1440:]), batch_size=119)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_epochs=max(2, args.steps // len(train_loader)), accelerator="cpu", devices=1, logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        )  # fmt: skip
        trainer.fit(Adversarial(args.width, args.lr), train_loader, val_loader)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
