"""Pre-training that is stopped by a time limit and picked up again from its checkpoint, as on a shared cluster."""
import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

V, T = 24, 16


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 3 * d, bias=False), nn.Linear(3 * d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.silu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, d=40, h=4, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, d), nn.Embedding(T, d)
        self.blocks = nn.ModuleList(Block(d, h) for _ in range(layers))
        self.norm = nn.RMSNorm(d)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.wte.weight.t()


def get_batch(step, seed, size=20):
    """Batch of a step: walks over a ring whose stride is told by the first two tokens."""
    g = torch.Generator().manual_seed(seed * 100003 + step)
    start, stride = torch.randint(0, V, (size, 1), generator=g), torch.randint(1, 4, (size, 1), generator=g)
    ids = (start + stride * torch.arange(T + 1)) % V
    noise = torch.rand(ids.shape, generator=g) < 0.03
    return torch.where(noise, torch.randint(0, V, ids.shape, generator=g), ids)


class Checkpointer:
    def __init__(self, folder):
        self.path = os.path.join(folder, "last.pt")

    def save(self, step, model, optimizer, scheduler):
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict()}, self.path)

    def load(self, model, optimizer, scheduler):
        if not os.path.exists(self.path):
            return 0
        state = torch.load(self.path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        return state["step"]


def run(args, checkpointer, until):
    """One job: builds everything anew, loads what there is, trains until the limit and saves."""
    torch.manual_seed(args.seed)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps + 1, pct_start=0.1)
    first = checkpointer.load(model, optimizer, scheduler)
    print(f"job begins at step {first}, optimizer knows {len(optimizer.state)} tensors")
    losses = []
    for step in range(first, until):
        ids = get_batch(step, args.seed)
        loss = F.cross_entropy(model(ids[:, :-1]).reshape(-1, V), ids[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
    checkpointer.save(until, model, optimizer, scheduler)
    return losses, int(next(iter(optimizer.state.values()))["step"])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--jobs", type=int, default=3)
    args = ap.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = Checkpointer(folder)
        jumps = []
        for job in range(args.jobs):
            losses, counted = run(args, checkpointer, args.steps * (job + 1) // args.jobs)
            if job:
                jumps.append(max(losses[:6]) - before)
            before = sum(losses[-4:]) / 4
    print(f"EVIDENCE optimizer_steps={counted} jump={max(jumps):.4f} last={before:.4f}")


if __name__ == "__main__":
    main()
