"""Tabular regression on a preemptible machine: the job is cut twice and resumes in the middle of an epoch.

The checkpoint holds model, optimizer, scheduler, RNG and the position of the sampler; after
a resume the run is bit-identical to an uninterrupted one (checked at the end).
"""
import argparse
import os
import tempfile

import torch
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=300)
    ap.add_argument("--save-every", type=int, default=20)
    return ap.parse_args()


class Preempted(Exception):
    pass


class ResumableSampler(Sampler):
    """Shuffled order that is a function of (seed, epoch); can start at an arbitrary row."""

    def __init__(self, n, seed):
        self.n, self.seed, self.epoch, self.start = n, seed, 0, 0

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed * 10007 + self.epoch)
        order = torch.randperm(self.n, generator=g).tolist()
        return iter(order[self.start:])

    def __len__(self):
        return self.n - self.start


class Job:
    BATCH = 40

    def __init__(self, args, train, scale):
        torch.manual_seed(args.seed)
        self.args, self.scale = args, scale
        self.model = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Dropout(0.05), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
        decay = [p for p in self.model.parameters() if p.ndim > 1]
        plain = [p for p in self.model.parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": 1e-2}, {"params": plain, "weight_decay": 0.0}], lr=args.lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=args.steps)
        self.sampler = ResumableSampler(len(train), args.seed)
        self.loader = DataLoader(train, batch_size=self.BATCH, sampler=self.sampler)
        self.step = 0

    def save(self, path):
        state = {"model": self.model.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                 "epoch": self.sampler.epoch, "start": self.sampler.start, "step": self.step, "rng": torch.get_rng_state()}
        torch.save(state, path + ".tmp")
        os.replace(path + ".tmp", path)

    def restore(self, path):
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.sched.load_state_dict(state["sched"])
        self.sampler.epoch, self.sampler.start, self.step = state["epoch"], state["start"], state["step"]
        torch.set_rng_state(state["rng"])

    def train_until(self, checkpoint=None, cut_at=None):
        args = self.args
        while self.step < args.steps:
            rng = torch.get_rng_state()
            batches = iter(self.loader)  # draws a base seed from the global generator
            torch.set_rng_state(rng)
            for x, y in batches:
                loss = nn.functional.mse_loss(self.model(x).squeeze(1), y)
                loss.backward()
                self.opt.step()
                self.opt.zero_grad(set_to_none=True)
                self.sched.step()
                self.step += 1
                self.sampler.start += len(x)
                if checkpoint and self.step % args.save_every == 0:
                    self.save(checkpoint)
                if self.step % 50 == 0:
                    print(f"  step {self.step:4d} loss {loss.item():.4f}")
                if cut_at is not None and self.step >= cut_at:
                    raise Preempted(self.step)
                if self.step >= args.steps:
                    return
            self.sampler.epoch += 1
            self.sampler.start = 0

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        err = (self.model(x).squeeze(1) - y).mul(self.scale).pow(2).mean().sqrt().item()
        self.model.train()
        return err


def load(seed):
    x, y = make_friedman1(n_samples=2600, noise=0.5, random_state=seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    cut = 2000
    mx, sx, my, sy = x[:cut].mean(0), x[:cut].std(0), y[:cut].mean(), y[:cut].std()
    x, y = (x - mx) / sx, (y - my) / sy
    return TensorDataset(x[:cut], y[:cut]), (x[cut:], y[cut:]), sy.item()


def main():
    args = parse_args()
    torch.set_num_threads(1)
    train, valid, scale = load(args.seed)
    cuts = [int(args.steps * 0.37), int(args.steps * 0.71), None]
    with tempfile.TemporaryDirectory() as tmp:
        checkpoint = os.path.join(tmp, "last.pt")
        for attempt, cut in enumerate(cuts):
            job = Job(args, train, scale)
            if os.path.exists(checkpoint):
                job.restore(checkpoint)
            print(f"attempt {attempt} starts at step {job.step} (epoch {job.sampler.epoch}, row {job.sampler.start})")
            try:
                job.train_until(checkpoint, cut)
            except Preempted as e:
                print(f"attempt {attempt} preempted at step {e}")
    whole = Job(args, train, scale)
    print("uninterrupted run for comparison")
    whole.train_until()
    gap = max((a - b).abs().max().item() for a, b in zip(job.model.parameters(), whole.model.parameters()))
    print(f"EVIDENCE val_rmse={job.evaluate(*valid):.4f} uninterrupted_rmse={whole.evaluate(*valid):.4f} weight_gap={gap:.2e}")


if __name__ == "__main__":
    main()
