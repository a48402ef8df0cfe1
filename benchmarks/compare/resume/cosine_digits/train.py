"""MLP on digits with SGD and a cosine schedule with warmup."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--out", help="write the checkpoint to this file")
    parser.add_argument("--resume", help="go on from this checkpoint")
    parser.add_argument("--forget", choices=["none", "schedule"], default="none")
    return parser.parse_args()


def build(steps):
    model = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4, momentum=0.9)
    warmup = LinearLR(optimizer, start_factor=0.05, total_iters=4)
    decay = CosineAnnealingLR(optimizer, T_max=max(1, steps - 4))
    schedule = SequentialLR(optimizer, [warmup, decay], milestones=[4])
    return model, optimizer, schedule


def save(path, step, model, optimizer, schedule, generator):
    torch.save({
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "generator": generator.get_state(),
    }, path)


def load(path, forget, model, optimizer, schedule, generator):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    fresh_lr = [group["lr"] for group in optimizer.param_groups]
    optimizer.load_state_dict(state["optimizer"])
    generator.set_state(state["generator"])
    if forget == "schedule":
        for group, lr in zip(optimizer.param_groups, fresh_lr):
            group["lr"] = lr
    else:
        schedule.load_state_dict(state["schedule"])
    return state["step"]


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    generator = torch.Generator().manual_seed(args.seed)
    model, optimizer, schedule = build(args.steps)
    start = 0
    if args.resume:
        start = load(args.resume, args.forget, model, optimizer, schedule, generator)

    for step in range(start, args.steps):
        if args.out and not args.resume and step == args.save_at:
            save(args.out, step, model, optimizer, schedule, generator)
        chosen = torch.randint(0, len(x), (64,), generator=generator)
        loss = F.cross_entropy(model(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        print(f"step {step} loss {loss.item():.8f} lr {schedule.get_last_lr()[0]:.6f}")

    print("weight sum", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
