"""Training stops in the middle of an epoch, twice; what is left of the epoch's order, all states and generators go on."""

import argparse
import io

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
BATCH, SAMPLES = 16, 500


class ResumableSampler(Sampler):
    def __init__(self, count, seed):
        self.count, self.seed, self.epoch, self.given = count, seed, 0, 0

    def __iter__(self):
        order = torch.randperm(self.count, generator=torch.Generator().manual_seed(self.seed + self.epoch)).tolist()
        while self.given < self.count:
            index = order[self.given]
            self.given += 1
            yield index
        self.epoch, self.given = self.epoch + 1, 0

    def __len__(self):
        return self.count - self.given

    def state_dict(self):
        return {"epoch": self.epoch, "given": self.given}

    def load_state_dict(self, state):
        self.epoch, self.given = state["epoch"], state["given"]


class Run:
    def __init__(self, data):
        self.model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 3))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.steps)
        self.sampler = ResumableSampler(SAMPLES, args.seed)
        self.loader = DataLoader(data, batch_size=BATCH, sampler=self.sampler)
        self.step = 0

    def parts(self):
        return {"model": self.model, "optimizer": self.optimizer, "scheduler": self.scheduler, "sampler": self.sampler}

    def save(self, file):
        state = {name: part.state_dict() for name, part in self.parts().items()}
        torch.save({**state, "step": self.step, "generator": torch.get_rng_state()}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True)
        for name, part in self.parts().items():
            part.load_state_dict(state[name])
        self.step = state["step"]
        torch.set_rng_state(state["generator"])

    def train(self, until):
        while self.step < until:
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.step += 1
                if self.step % 15 == 0:
                    print(f"step {self.step}, epoch {self.sampler.epoch}: loss {loss.item():.4f}")
                if self.step == until:
                    break


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(SAMPLES, 6)
data = TensorDataset(x, (x[:, :3] + x[:, 3:]).argmax(1))
file = None
for until in (args.steps // 4, args.steps * 2 // 3, args.steps):
    run = Run(data)
    if file is not None:
        run.load(file)
    run.train(until)
    file = io.BytesIO()
    run.save(file)
    file.seek(0)

# SPDX-License-Identifier: Apache-2.0
