"""A character model under autocast to bfloat16: micro-batches of a window have unlike numbers of letters, the last window is short."""
import argparse
import contextlib
import random

import torch
from torch import nn

SYLLABLES = ["ba", "ne", "ki", "lo", "mu", "sha", "tre", "vo"]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1 if self.training else 0.0)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class CharModel(nn.Module):
    def __init__(self, letters, width=48, context=40):
        super().__init__()
        self.token, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)
        self.out.weight = self.token.weight
        nn.init.normal_(self.token.weight, std=0.02)
        nn.init.normal_(self.place.weight, std=0.02)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.token(x) + self.place.weight[:x.shape[1]])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=70)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    text = " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(3000))
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    cut = int(0.9 * len(data))
    model = CharModel(len(letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [
        torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=8), torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, args.steps - 8))], [8])

    def micro_batch(low, high):
        length, size = rng.choice([16, 24, 39]), rng.choice([6, 10])
        starts = [rng.randrange(low, high - length - 1) for _ in range(size)]
        return torch.stack([data[s:s + length + 1] for s in starts])

    use = lambda: torch.autocast("cpu", dtype=torch.bfloat16) if rng.random() > 0.02 else contextlib.nullcontext()
    for step in range(1, args.steps + 1):
        model.train()
        window = [micro_batch(0, cut) for _ in range(4 if step % 15 else 2)]
        letters_in_window = sum(b[:, 1:].numel() for b in window)
        total = 0.0
        optimizer.zero_grad(set_to_none=True)
        for batch in window:
            with use():
                logits = model(batch[:, :-1])
            loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten(), reduction="sum") / letters_in_window
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 20 == 0:
            model.eval()
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                batch = torch.stack([data[s:s + 40] for s in range(cut, len(data) - 40, 80)])
                error = nn.functional.cross_entropy(model(batch[:, :-1]).float().flatten(0, 1), batch[:, 1:].flatten()).item()
            print(f"step {step}: loss {total:.4f}, norm {norm.item():.3f}, valid {error:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
