"""Denoising autoencoder on digits with EMA weights; the job is preempted now and then and goes on from its checkpoint."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.collected = {}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.named_parameters():
            self.shadow[k].lerp_(v, 1 - self.decay)

    @torch.no_grad()
    def store(self, model):
        self.collected = {k: v.detach().clone() for k, v in model.named_parameters()}

    @torch.no_grad()
    def copy_to(self, model):
        for k, v in model.named_parameters():
            v.copy_(self.shadow[k])

    @torch.no_grad()
    def restore(self, model):
        for k, v in model.named_parameters():
            v.copy_(self.collected[k])

    def state_dict(self):
        return {"decay": self.decay, "shadow": self.shadow}

    def load_state_dict(self, state):
        self.decay = state["decay"]
        self.shadow = {k: v.clone() for k, v in state["shadow"].items()}


class Denoiser(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(65, width), nn.SiLU(), nn.LayerNorm(width),
            nn.Linear(width, width), nn.SiLU(), nn.LayerNorm(width),
            nn.Linear(width, 64),
        )

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma[:, None]], 1))


class Trainer:
    def __init__(self, args, path):
        self.args, self.path = args, path
        x = torch.tensor(load_digits().data / 8.0 - 1.0, dtype=torch.float32)
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
        self.train_x, self.valid_x = x[order[:1400]], x[order[1400:]]
        self.model = Denoiser()
        self.ema = EMA(self.model, args.decay)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-3)
        self.g = torch.Generator().manual_seed(args.seed)
        self.step = 0

    def save(self):
        torch.save({
            "model": self.model.state_dict(), "ema": self.ema.state_dict(), "opt": self.opt.state_dict(),
            "rng": self.g.get_state(), "step": self.step,
        }, self.path)

    def resume(self):
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.ema.load_state_dict(state["ema"])
        self.opt.load_state_dict(state["opt"])
        self.g.set_state(state["rng"])
        self.step = state["step"]

    def denoising_loss(self, x, g):
        sigma = torch.rand(len(x), generator=g) * 1.0 + 0.05
        noisy = x + sigma[:, None] * torch.randn(x.shape, generator=g)
        return F.mse_loss(self.model(noisy, sigma), x)

    def train_step(self):
        idx = torch.randint(0, len(self.train_x), (self.args.batch,), generator=self.g)
        loss = self.denoising_loss(self.train_x[idx], self.g)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.ema.update(self.model)
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def score(self):
        self.model.eval()
        loss = self.denoising_loss(self.valid_x, torch.Generator().manual_seed(3)).item()
        self.model.train()
        return loss

    def validate_and_save(self):
        self.ema.store(self.model)
        self.ema.copy_to(self.model)
        val = self.score()
        self.ema.restore(self.model)
        self.save()
        return val

    def run(self, until):
        while self.step < until:
            loss = self.train_step()
            if self.step % 20 == 0:
                val = self.validate_and_save()
                print(f"step {self.step} loss {loss:.4f} val {val:.4f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--decay", type=float, default=0.97)
    p.add_argument("--preempt-every", type=int, default=20)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "last.pt")
        trainer = Trainer(args, path)
        trainer.run(min(args.preempt_every, args.steps))
        while trainer.step < args.steps:
            trainer = Trainer(args, path)
            if os.path.exists(path):
                trainer.resume()
            trainer.run(min(trainer.step + args.preempt_every, args.steps))
        trainer.ema.copy_to(trainer.model)
        print(f"EVIDENCE ema_val_mse={trainer.score():.4f}", flush=True)


if __name__ == "__main__":
    main()
