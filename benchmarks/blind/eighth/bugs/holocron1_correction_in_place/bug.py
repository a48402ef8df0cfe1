"""A very small GPT on sums of digits, with an Adam of its own."""
import argparse
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

# -----------------------------------------------------------------------------
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=220)
args = parser.parse_args()
block_size, vocab_size, n_embd, n_head = 12, 10, 32, 2
# -----------------------------------------------------------------------------


class OurAdam(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.95), eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, torch.zeros_like(p), torch.zeros_like(p)
                exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                state["step"] += 1
                exp_avg.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                corrected = exp_avg.div(1 - beta1 ** state["step"])
                corrected_sq = exp_avg_sq.div_(1 - beta2 ** state["step"])
                p.addcdiv_(corrected, corrected_sq.sqrt().add_(group["eps"]), value=-group["lr"])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in self.c_attn(self.ln_1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
        x = x + self.c_proj(y)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h, self.ln_f = nn.ModuleList([Block() for _ in range(2)]), nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.reshape(-1))


def get_batch(n=48):
    data = torch.randint(vocab_size, (n, block_size + 1))
    for t in range(2, block_size + 1):
        data[:, t] = (data[:, t - 1] + data[:, t - 2]) % vocab_size
    return data[:, :-1], data[:, 1:]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = GPT()
optimizer = OurAdam(model.parameters(), lr=args.lr)
first = [p.detach().clone() for p in model.parameters()]
for it in range(args.steps):
    x, y = get_batch()
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 40 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")
with torch.no_grad():
    x, y = get_batch(200)
    logits, loss = model(x, y)
moved = math.sqrt(sum((p - q).pow(2).sum().item() for p, q in zip(model.parameters(), first)))
print(f"EVIDENCE validation loss {loss.item():.4f}, weights moved by {moved:.4f}")

# SPDX-License-Identifier: Apache-2.0
