"""Pre-training loop with gradient accumulation where an epoch doesn't divide into whole windows."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

VOCAB, SEQ = 32, 16


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, dim), nn.Embedding(SEQ, dim)
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids, labels):
        x = self.blocks(self.wte(ids) + self.wpe.weight[:ids.shape[1]])
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def make_tokens(rows, seed):
    gen = torch.Generator().manual_seed(seed)
    start = torch.randint(0, VOCAB, (rows, 1), generator=gen)
    noise = (torch.rand(rows, SEQ + 1, generator=gen) < 0.1).long() * 3
    return (start + 5 * torch.arange(SEQ + 1) + noise) % VOCAB


def windows(loader, size):
    """Groups of micro-batches; the last group of an epoch may be short."""
    window = []
    for batch in loader:
        window.append(batch)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def train(args):
    torch.manual_seed(args.seed)
    model = GPT()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loader = DataLoader(make_tokens(68, args.seed), batch_size=4, shuffle=True)      # 17 micro-batches
    step, full_norms, short_norms = 0, [], []
    while step < args.steps:
        for window in windows(loader, args.gradient_accumulation_steps):
            current_accumulation = len(window)
            total = 0.0
            for batch in window:
                loss = model(batch[:, :-1], batch[:, 1:])
                loss = loss / current_accumulation
                loss.backward()
                total += loss.item()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0).item()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            (full_norms if len(window) == args.gradient_accumulation_steps else short_norms).append(norm)
            if step % 6 == 0:
                print(f"step {step} loss {total:.4f} grad_norm {norm:.3f}")
            if step == args.steps:
                break
    with torch.no_grad():
        test = make_tokens(128, 5150)
        final = model(test[:, :-1], test[:, 1:]).item()
    ratio = (sum(short_norms) / len(short_norms)) / (sum(full_norms) / len(full_norms))
    print(f"EVIDENCE short_to_full_norm={ratio:.4f} held_out_loss={final:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=36)
    parser.add_argument("--gradient-accumulation-steps", type=int, default=8)
    torch.set_num_threads(1)
    train(parser.parse_args())
