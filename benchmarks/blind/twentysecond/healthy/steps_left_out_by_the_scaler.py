"""Loss scaling in float16 that begins far too high: the first steps are left out by design, while the scale comes down."""
import argparse
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    warnings.filterwarnings("ignore", message="Detected call of `lr_scheduler.step")
    torch.manual_seed(args.seed)
    teacher = torch.randn(16, 4, generator=torch.Generator().manual_seed(1))
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=20)
    left_out = 0
    for step in range(args.steps):
        x = torch.randn(48, 16)
        with torch.autocast("cpu", dtype=torch.float16):
            logits = model(x)
        loss = F.cross_entropy(logits.float(), (x @ teacher).argmax(1))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            left_out += 1
        else:
            schedule.step()
        if step % 25 == 24:
            print(f"step {step + 1} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")
    print(f"RESULT loss={loss.item():.4f} left_out={left_out} scale={scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
