"""A checkpoint with weights, moments, schedule, sampler and random states; the run that goes on equals the one that was never cut."""

import argparse
import io
import random

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.set_num_threads(1)


class Job:
    def __init__(self, seed):
        random.seed(seed)
        torch.manual_seed(seed)
        self.x = torch.randn(256, 8)
        self.y = (self.x[:, :1] * self.x[:, 1:2]).tanh()
        self.model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.NAdam(self.model.parameters(), lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(self.optimizer, 10)
        self.order, self.step = [], 0

    def run(self, until):
        while self.step < until:
            if not self.order:
                self.order = list(range(256))
                random.shuffle(self.order)
            index, self.order = self.order[:32], self.order[32:]
            noisy = self.x[index] + 0.05 * torch.randn(32, 8)
            loss = nn.functional.mse_loss(self.model(noisy), self.y[index])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.step += 1
        return loss.item()

    def save(self):
        out = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "order": self.order, "step": self.step,
                    "torch": torch.get_rng_state(), "python": random.getstate()}, out)
        return out

    def load(self, out):
        out.seek(0)
        state = torch.load(out, weights_only=False)
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.order, self.step = state["order"], state["step"]
        torch.set_rng_state(state["torch"])
        random.setstate(state["python"])


first = Job(args.seed)
first.run(args.steps // 2)
saved = first.save()
whole = first.run(args.steps)
second = Job(args.seed)
second.load(saved)
resumed = second.run(args.steps)
same = all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters()))
print(f"loss {whole:.6f} and {resumed:.6f}, weights equal: {same}")

# SPDX-License-Identifier: Apache-2.0
