"""Lightning with few rows and accumulated batches: an epoch of the loader is longer than an accumulated step."""
import argparse
import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

ROWS, BATCH, ACCUMULATE = 48, 16, 6


def rows_of(seed, count):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 10, generator=gen)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * torch.randn(count, generator=gen)
    return TensorDataset(x, y)


class Regression(L.LightningModule):
    def __init__(self, lr, steps):
        super().__init__()
        self.lr, self.steps, self.norms, self.micro = lr, steps, [], 0
        self.net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))

    def training_step(self, batch, _):
        x, y = batch
        self.micro += 1
        return F.mse_loss(self.net(x).squeeze(1), y)

    def on_before_optimizer_step(self, optimizer):
        norm = sum(p.grad.pow(2).sum() for p in self.parameters()).sqrt().item()
        self.norms.append(norm)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=40)
    args = ap.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    L.seed_everything(args.seed, verbose=False)
    data = rows_of(args.seed, ROWS)
    sampler = RandomSampler(data, replacement=True, num_samples=BATCH * ACCUMULATE * 10)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
    model = Regression(args.lr, args.steps)
    trainer = L.Trainer(max_steps=args.steps, max_epochs=-1, accumulate_grad_batches=ACCUMULATE, accelerator="cpu", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, loader)
    model.eval()
    x, y = rows_of(4321, 300).tensors
    with torch.no_grad():
        held_out = F.mse_loss(model.net(x).squeeze(1), y).item()
    per_step = model.micro / trainer.global_step
    spread = torch.tensor(model.norms[len(model.norms) // 2:]).std().item()
    print(f"EVIDENCE batches_per_step={per_step:.3f} steps={trainer.global_step} norm_spread={spread:.4f} held_out={held_out:.4f}")


if __name__ == "__main__":
    main()
