"""Lightning by hand: one schedule steps every tenth batch, another after validation, one part is trained in each third batch only."""

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
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Adversary(lightning.LightningModule):
    """A classifier whose features are not to tell from which of two sources a sample is."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.features = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 12))
        self.head, self.source = nn.Linear(12, 4), nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))

    def training_step(self, batch, index):
        x, y, source = batch
        main, adversary = self.optimizers()
        for_main, _ = self.lr_schedulers()
        if index % 3 != 2:
            self.toggle_optimizer(adversary)
            logit = self.source(self.features(x).detach()).squeeze(1)
            adversary.zero_grad()
            self.manual_backward(nn.functional.binary_cross_entropy_with_logits(logit, source))
            adversary.step()
            self.untoggle_optimizer(adversary)
            return
        self.toggle_optimizer(main)
        code = self.features(x)
        confusion = -nn.functional.logsigmoid(self.source(code) * (1 - 2 * source[:, None])).mean()
        loss = nn.functional.cross_entropy(self.head(code), y) + 0.2 * confusion
        main.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(main, gradient_clip_val=2.0, gradient_clip_algorithm="norm")
        main.step()
        self.untoggle_optimizer(main)
        if index % 10 == 5:
            for_main.step()

    def validation_step(self, batch, index):
        x, y, source = batch
        code = self.features(x)
        self.log("right", (self.head(code).argmax(1) == y).float().mean())
        self.log("told", ((self.source(code).squeeze(1) > 0).float() == source).float().mean())

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            self.lr_schedulers()[1].step(self.trainer.callback_metrics["told"])

    def configure_optimizers(self):
        main = torch.optim.Adam([*self.features.parameters(), *self.head.parameters()], lr=self.hparams.lr)
        adversary = torch.optim.SGD(self.source.parameters(), lr=5 * self.hparams.lr, momentum=0.5)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(adversary, mode="min", factor=0.7, patience=0)
        return [main, adversary], [torch.optim.lr_scheduler.ExponentialLR(main, 0.95), plateau]


def main():
    lightning.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    labels, source = torch.randint(4, (1000,)), torch.randint(2, (1000,)).float()
    x = torch.randn(4, 14)[labels] + source[:, None] * torch.randn(14) + 0.8 * torch.randn(1000, 14)
    train = DataLoader(TensorDataset(x[:800], labels[:800], source[:800]), batch_size=16, shuffle=True)
    valid = DataLoader(TensorDataset(x[800:], labels[800:], source[800:]), batch_size=50)
    module = Adversary(args.lr)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(max_steps=args.steps, accelerator="cpu", logger=False, enable_progress_bar=False,
                                    enable_checkpointing=False, enable_model_summary=False, default_root_dir=folder)
        trainer.fit(module, train, valid)
        result = trainer.validate(module, valid, verbose=False)[0]
    print(f"right {result['right']:.4f}, source told {result['told']:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
