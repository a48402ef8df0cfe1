"""Pretraining of a tide table model in two jobs: warm-up and cosine decay go on over the restart."""
import argparse
import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

HOURS = 24


def tides(n, gen):
    phase = torch.rand(n, 1, generator=gen) * 6.28
    height = 0.5 + torch.rand(n, 1, generator=gen)
    t = torch.arange(HOURS + 6)
    wave = height * torch.sin(t * 0.506 + phase) + 0.3 * torch.sin(t * 0.253 + 2 * phase)
    wave = wave + 0.05 * torch.randn(wave.shape, generator=gen)
    return wave[:, :HOURS], wave[:, HOURS:]


def build(args):
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(HOURS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    warmup = max(1, args.steps // 10)
    scheduler = SequentialLR(
        optimizer,
        [
            LinearLR(optimizer, start_factor=0.1, total_iters=warmup),
            CosineAnnealingLR(optimizer, T_max=args.steps - warmup),
        ],
        milestones=[warmup],
    )
    return net, optimizer, scheduler


def save_checkpoint(path, net, optimizer, scheduler, iteration):
    torch.save(
        {
            "net": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "opt_param_scheduler": scheduler.state_dict(),
            "iteration": iteration,
        },
        path,
    )


def load_checkpoint(path, net, optimizer, scheduler):
    state = torch.load(path)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["opt_param_scheduler"])
    return state["iteration"]


def setup(args, resume_from=None):
    net, optimizer, scheduler = build(args)
    iteration = 0
    if resume_from:
        iteration = load_checkpoint(resume_from, net, optimizer, scheduler)
        print(f"resumed at iteration {iteration}")
    return net, optimizer, scheduler, iteration


def train(net, optimizer, scheduler, iteration, until, gen, rates):
    for iteration in range(iteration, until):
        x, y = tides(64, gen)
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.append(scheduler.get_last_lr()[0])
        scheduler.step()
        if iteration % 100 == 0:
            print(f"iteration {iteration} mse {loss.item():.5f} lr {rates[-1]:.2e}")
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=600)
    args = ap.parse_args()
    gen = torch.Generator().manual_seed(args.seed)
    half = args.steps * 2 // 5

    straight = build(args)
    planned = []
    for _ in range(args.steps):
        planned.append(straight[2].get_last_lr()[0])
        straight[1].step()
        straight[2].step()

    rates = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "iter.pt")
        net, optimizer, scheduler, iteration = setup(args)
        train(net, optimizer, scheduler, iteration, half, gen, rates)
        save_checkpoint(path, net, optimizer, scheduler, half)
        net, optimizer, scheduler, iteration = setup(args, resume_from=path)
        final = train(net, optimizer, scheduler, iteration, args.steps, gen, rates)
    off = max(abs(a - b) for a, b in zip(rates, planned)) / args.lr
    print(f"EVIDENCE largest_rate_error={off:.3f} rate_after_resume={rates[half]:.2e} planned={planned[half]:.2e} mse={final:.5f}")


if __name__ == "__main__":
    main()
