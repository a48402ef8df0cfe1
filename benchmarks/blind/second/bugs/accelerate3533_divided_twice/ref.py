"""Accumulation by accelerate: eight micro-batches make one step of SGD."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.3)
parser.add_argument("--steps", type=int, default=56)
args = parser.parse_args()


class Trainer:
    def __init__(self, accumulation=4):
        self.accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
        self.accumulation = accumulation
        x = torch.randn(512, 12)
        y = (x[:, :3].sum(1) > 0).long() + 2 * (x[:, 3] * x[:, 4] > 0).long()
        model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.norms, self.seen = [], 0

    def compute_loss(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)

    def training_step(self, batch):
        with self.accelerator.accumulate(self.model):
            loss = self.compute_loss(batch)
            reported = loss.detach()
            self.accelerator.backward(loss)
            if self.accelerator.sync_gradients:
                norm = self.accelerator.clip_grad_norm_(self.model.parameters(), 5.0)
                self.norms.append(float(norm))
            self.optimizer.step()
            self.optimizer.zero_grad()
        return reported

    def train(self):
        losses = []
        while self.seen < args.steps:
            for batch in self.loader:
                losses.append(self.training_step(batch))
                self.seen += 1
                if self.seen == args.steps:
                    break
        return torch.stack(losses)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
trainer = Trainer()
losses = trainer.train()
print(f"EVIDENCE norm of the first gradient {trainer.norms[0]:.4f}, loss {losses[:8].mean():.3f} to {losses[-8:].mean():.3f}")

# Idea from huggingface/accelerate#3533, huggingface/transformers#40709
# SPDX-License-Identifier: Apache-2.0
