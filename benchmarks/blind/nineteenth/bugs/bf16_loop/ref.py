"""Mixed precision (bfloat16 autocast) training of a key-value recall language model."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

KEYS, VALUES = 8, 8
QUERY = KEYS + VALUES
VOCAB = QUERY + 1
PAIRS = 3


class Mixer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, 3 * dim)
        self.to_out = nn.Linear(dim, dim)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.to_qkv(self.norm(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.to_out(att.transpose(1, 2).reshape(b, t, d))
        return x + self.ffn(x)


class RecallLM(nn.Module):
    def __init__(self, dim=64, depth=2, heads=2):
        super().__init__()
        self.key_value = nn.Embedding(VOCAB, dim)
        self.position = nn.Parameter(torch.randn(2 * PAIRS + 2, dim) * 0.02)
        self.stack = nn.Sequential(*[Mixer(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.norm(self.stack(self.key_value(ids) + self.position[: ids.size(1)])))


def make_batch(size, gen):
    keys = torch.rand(size, KEYS, generator=gen).argsort(-1)[:, :PAIRS]
    values = torch.randint(KEYS, KEYS + VALUES, (size, PAIRS), generator=gen)
    pick = torch.randint(PAIRS, (size, 1), generator=gen)
    pairs = torch.stack([keys, values], -1).flatten(1)
    ids = torch.cat([pairs, torch.full((size, 1), QUERY), keys.gather(1, pick)], 1)
    return ids, values.gather(1, pick).squeeze(1)


@torch.autocast("cpu", dtype=torch.bfloat16)
def compute_loss(model, ids, answer):
    logits = model(ids)[:, -1]
    return F.cross_entropy(logits.float(), answer)


@torch.no_grad()
def accuracy(model, gen, n=512):
    ids, answer = make_batch(n, gen)
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        predicted = model(ids)[:, -1].argmax(-1)
    model.train()
    return (predicted == answer).float().mean().item()


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

    def pop(self):
        mean = self.total / max(1, self.count)
        self.total, self.count = 0.0, 0
        return mean


def make_optimizer(model, lr):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def train(model, optimizer, args, gen):
    meter = Meter()
    for step in range(1, args.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, step / 10)
        ids, answer = make_batch(args.batch_size, gen)
        loss = compute_loss(model, ids, answer)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        meter.update(loss.item())
        if step % 20 == 0:
            print(f"step {step:3d} train loss {meter.pop():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--batch_size", type=int, default=96)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = RecallLM()
    optimizer = make_optimizer(model, args.lr)
    train(model, optimizer, args, gen)
    print(f"EVIDENCE recall_accuracy={accuracy(model, gen):.3f}")


if __name__ == "__main__":
    main()
