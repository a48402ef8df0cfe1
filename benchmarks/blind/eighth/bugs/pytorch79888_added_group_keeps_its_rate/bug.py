"""Lightning: a head is trained on a frozen trunk, then the trunk is thawed; cosine cycles for both."""
import argparse
import logging
import math
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Thaw(L.Callback):
    """Frees the trunk when a third of the steps is over."""

    def __init__(self, at, lr):
        self.at, self.lr = at, lr

    def on_fit_start(self, trainer, module):
        module.trunk.requires_grad_(False)

    def on_train_batch_start(self, trainer, module, batch, index):
        if trainer.global_step == self.at and not next(module.trunk.parameters()).requires_grad:
            module.trunk.requires_grad_(True)
            trainer.optimizers[0].add_param_group({"params": module.trunk.parameters(), "lr": self.lr / 4})


class CosineCycles(L.Callback):
    """Each group's rate falls from its own base to nothing, then starts again."""

    def __init__(self, cycle):
        self.cycle = cycle

    def on_train_start(self, trainer, module):
        self.base_lrs = [group["lr"] for group in trainer.optimizers[0].param_groups]

    def on_train_batch_start(self, trainer, module, batch, index):
        factor = 0.5 * (1 + math.cos(math.pi * (trainer.global_step % self.cycle) / self.cycle))
        for group, base_lr in zip(trainer.optimizers[0].param_groups, self.base_lrs):
            group["lr"] = base_lr * factor


class Classifier(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.trunk = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 5)
        self.rates = []

    def training_step(self, batch, index):
        x, y = batch
        groups = self.optimizers().param_groups
        self.rates.append((groups[0]["lr"], groups[-1]["lr"]))
        return nn.functional.cross_entropy(self.head(self.trunk(x)), y)

    def validation_step(self, batch, index):
        x, y = batch
        logits = self.head(self.trunk(x))
        self.log("loss", nn.functional.cross_entropy(logits, y))
        self.log("right", (logits.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        lr = self.hparams.lr
        groups = [{"params": self.head.parameters()}]
        return torch.optim.AdamW(groups, lr=lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(args.seed, verbose=False)
    labels = torch.randint(5, (900,))
    inputs = torch.randn(5, 20)[labels] * torch.randn(900, 1).sign() + 0.5 * torch.randn(900, 20)
    train = DataLoader(TensorDataset(inputs[:640], labels[:640]), batch_size=32, shuffle=True)
    valid = DataLoader(TensorDataset(inputs[640:], labels[640:]), batch_size=130)
    model = Classifier(args.lr)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
                            callbacks=[Thaw(args.steps // 3, args.lr), CosineCycles(max(1, args.steps // 2))])
        trainer.fit(model, train, valid)
        result = trainer.validate(model, valid, verbose=False)[0]
    head, trunk = model.rates[-1]
    print(f"EVIDENCE last rates: head {head:.6f}, trunk {trunk:.6f}; loss {result['loss']:.4f}, right {result['right']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
