"""Weights in bfloat16, masters in float32: after a bad stretch of data the run goes back to the weights it had saved."""
import argparse
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


class MasterAdam:
    """AdamW over float32 copies; the model's own bfloat16 weights are written from them after each step."""

    def __init__(self, model, lr):
        self.live = list(model.parameters())
        self.masters = [p.detach().float().clone().requires_grad_() for p in self.live]
        self.inner = torch.optim.AdamW(self.masters, lr=lr, weight_decay=0.01)

    @torch.no_grad()
    def step(self):
        for live, master in zip(self.live, self.masters):
            master.grad = live.grad.float()
        self.inner.step()
        for live, master in zip(self.live, self.masters):
            live.copy_(master.to(torch.bfloat16))
            live.grad = None

    @torch.no_grad()
    def refresh_masters(self):
        for live, master in zip(self.live, self.masters):
            master.copy_(live.float())


class Meter(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def readings(n, gen, broken=False):
    x = torch.randn(n, 8, generator=gen)
    y = torch.sin(x[:, 0] + x[:, 1]) + 0.5 * x[:, 2] * x[:, 3].sign()
    if broken:
        y = 6.0 * torch.randn(n, generator=gen)
    return x.to(torch.bfloat16), y


def load_weights(model, optimizer, saved):
    """Weights only: the moments stay as they are."""
    saved.seek(0)
    model.load_state_dict(torch.load(saved))
    optimizer.refresh_masters()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=400)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Meter().to(torch.bfloat16)
    optimizer = MasterAdam(model, args.lr)
    bad = range(int(0.5 * args.steps), int(0.6 * args.steps))
    saved, after_rollback = io.BytesIO(), None
    for step in range(args.steps):
        if step == bad.start:
            torch.save(model.state_dict(), saved)
        if step == bad.stop:
            load_weights(model, optimizer, saved)
            kept = torch.cat([p.detach().float().flatten() for p in model.parameters()])
        x, y = readings(64, gen, broken=step in bad)
        loss = F.mse_loss(model(x).float(), y)
        loss.backward()
        optimizer.step()
        if step == bad.stop:
            now = torch.cat([p.detach().float().flatten() for p in model.parameters()])
            after_rollback = (now - kept).norm().item()
        if step % 80 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    print(f"EVIDENCE first_step_after_rollback={after_rollback:.4f} mse={loss.item():.4f}")


if __name__ == "__main__":
    main()
