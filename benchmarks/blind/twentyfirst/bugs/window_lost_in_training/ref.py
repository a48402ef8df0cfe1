"""Pre-training of a small language model whose layers look back over a window and over all, with one matrix for both ends."""
import argparse
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB, LENGTH, WINDOW = 24, 40, 5


def source(seed=7):
    return torch.randint(0, VOCAB, (VOCAB, VOCAB), generator=torch.Generator().manual_seed(seed))


def batch(table, n, gen):
    """The next token follows from the last two, one time in eight it is drawn."""
    ids = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    keep = torch.rand(n, LENGTH, generator=gen) > 0.125
    for t in range(2, LENGTH):
        ids[:, t] = torch.where(keep[:, t], table[ids[:, t - 1], ids[:, t - 2]], ids[:, t])
    return ids


def band_mask(t, window):
    distance = torch.arange(t)[:, None] - torch.arange(t)[None]
    return (distance >= 0) & (distance < window)


class Attention(nn.Module):
    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if self.window is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=band_mask(t, self.window))
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads, window):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, window)
        self.ff = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ff(self.ln2(x))


class WindowLM(nn.Module):
    def __init__(self, dim=48, heads=4, windows=(WINDOW, None, WINDOW)):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.place = nn.Embedding(LENGTH, dim)
        self.layers = nn.ModuleList([Layer(dim, heads, w) for w in windows])
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.tie_weights()

    def tie_weights(self):
        self.lm_head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids) * math.sqrt(self.embed.embedding_dim) + self.place(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def make_trainable_copies(model, names=("embed", "lm_head")):
    """The originals stay with the caller (they are offloaded elsewhere); the model trains copies of its own."""
    offloaded = {}
    for name in names:
        module = getattr(model, name)
        offloaded[name] = module
        setattr(model, name, copy.deepcopy(module))
    model.tie_weights()
    return offloaded


def reach(model, table, gen):
    """How far the first layer looks back: change of its output at the end when the first half of the input changes."""
    was_training = model.training
    model.train()
    with torch.no_grad():
        x = model.embed(batch(table, 16, gen))
        y = x.clone()
        y[:, :LENGTH // 2] = y[:, :LENGTH // 2].flip(0)
        layer = model.layers[0]
        moved = (layer(x)[:, -1] - layer(y)[:, -1]).abs().mean().item()
    model.train(was_training)
    return moved


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=2e-3)
    cli.add_argument("--steps", type=int, default=110)
    args = cli.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    table = source()
    model = WindowLM()
    offloaded = make_trainable_copies(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.05)
    for step in range(args.steps):
        ids = batch(table, 24, gen)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    apart = (model.lm_head.weight - model.embed.weight).norm().item()
    moved = (model.embed.weight - offloaded["embed"].weight).norm().item()
    print(f"EVIDENCE reach_beyond_window={reach(model, table, gen):.5f} ends_apart={apart:.4f} moved={moved:.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
