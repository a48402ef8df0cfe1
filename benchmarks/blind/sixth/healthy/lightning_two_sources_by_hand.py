"""Lightning with two loaders in one batch, optimisers stepped by hand and few validations."""

import argparse
import logging
import warnings

import lightning
import torch
from lightning.pytorch.utilities import CombinedLoader
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
EPOCHS = 4


class Both(lightning.LightningModule):
    def __init__(self, accumulate=2):
        super().__init__()
        self.automatic_optimization = False
        self.accumulate = accumulate
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head, self.decoder = nn.Linear(32, 3), nn.Linear(32, 10)
        self.register_buffer("level", torch.tensor(0.0))

    def training_step(self, batch, number):
        optimizer = self.optimizers()
        x, y = batch["labelled"]
        (plain,) = batch["plain"]
        hidden = self.trunk(x)
        supervised = nn.functional.cross_entropy(self.head(hidden), y)
        rebuilt = nn.functional.mse_loss(self.decoder(self.trunk(plain)), plain)
        self.level.mul_(0.9).add_(supervised.detach(), alpha=0.1)
        self.manual_backward((supervised + 0.2 * rebuilt) / self.accumulate)
        if (number + 1) % self.accumulate == 0 or self.trainer.is_last_batch:
            self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            optimizer.step()
            optimizer.zero_grad()
            self.lr_schedulers().step()
        self.log_dict({"supervised": supervised, "rebuilt": rebuilt})

    def validation_step(self, batch, number):
        x, y = batch
        self.log("right", (self.head(self.trunk(x)).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=args.lr)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)]


def main():
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    lightning.seed_everything(args.seed, verbose=False)
    rule = torch.randn(10, 3)
    x = torch.randn(16 * (args.steps // EPOCHS), 10)
    labelled = DataLoader(TensorDataset(x, (x @ rule).argmax(1)), batch_size=16, shuffle=True)
    plain = DataLoader(TensorDataset(torch.randn(90, 10)), batch_size=24, shuffle=True)
    valid_x = torch.randn(120, 10)
    valid = DataLoader(TensorDataset(valid_x, (valid_x @ rule).argmax(1)), batch_size=30)
    model = Both()
    trainer = lightning.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, check_val_every_n_epoch=2,
                                limit_val_batches=3, num_sanity_val_steps=1)
    trainer.fit(model, CombinedLoader({"labelled": labelled, "plain": plain}, "max_size_cycle"), valid)
    print(f"level {model.level.item():.4f}, right {trainer.callback_metrics['right']:.3f}")


main()

# SPDX-License-Identifier: Apache-2.0
