"""ReLoRA: adapters are merged into frozen weights each forty steps, drawn anew, and the state of their optimizer is thrown away."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 18, 12


class LoRA(nn.Module):
    def __init__(self, inner, outer, rank=4):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outer, inner), requires_grad=False)
        self.A, self.B = nn.Parameter(torch.empty(rank, inner)), nn.Parameter(torch.zeros(outer, rank))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))

    def forward(self, x):
        return F.linear(x, self.weight) + x @ self.A.T @ self.B.T

    @torch.no_grad()
    def merge_and_restart(self):
        self.weight += self.B @ self.A
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.B.zero_()


class LM(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.mix, self.up, self.down = LoRA(3 * width, width), LoRA(width, 2 * width), LoRA(2 * width, width)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.mix(torch.cat([F.pad(x, (0, 0, k, 0))[:, :x.shape[1]] for k in range(3)], -1))
        return self.head(self.norm(x + self.down(F.gelu(self.up(x)))))


def rows(gen, size=32):
    start, stride = torch.randint(0, VOCAB, (size, 1), generator=gen), torch.randint(1, 5, (size, 1), generator=gen)
    return (start + stride * torch.arange(LENGTH)) % VOCAB


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--cycle", type=int, default=40)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen, model = torch.Generator().manual_seed(args.seed), LM()
    adapters = [m for m in model.modules() if isinstance(m, LoRA)]
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, weight_decay=0.0)
    for step in range(args.steps):
        if step and step % args.cycle == 0:
            for adapter in adapters:
                adapter.merge_and_restart()
                for p in (adapter.A, adapter.B):
                    optimizer.state.pop(p, None)
        for group in optimizer.param_groups:                      # a short warm-up in each cycle
            group["lr"] = args.lr * min(1.0, (step % args.cycle + 1) / 8)
        ids = rows(gen)
        loss = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % args.cycle == args.cycle - 1:
            print(f"step {step + 1} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.2e}")


if __name__ == "__main__":
    main()
