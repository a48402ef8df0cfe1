"""Pure bfloat16 weights without a float32 master copy: the update is written back with stochastic rounding."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 20, 24


def copy_stochastic_(target, source):
    """Rounds a float32 tensor to bfloat16, up or down with the right probability."""
    noise = torch.randint_like(source, 0, 1 << 16, dtype=torch.int32)
    bits = (source.contiguous().view(torch.int32) + noise) & -65536
    target.copy_(bits.view(torch.float32))


class SRAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["t"] = 0
                    state["m"] = torch.zeros_like(p, dtype=torch.float32)
                    state["v"] = torch.zeros_like(p, dtype=torch.float32)
                state["t"] += 1
                g = p.grad.float()
                state["m"].lerp_(g, 1 - b1)
                state["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
                m = state["m"] / (1 - b1 ** state["t"])
                v = state["v"] / (1 - b2 ** state["t"])
                new = p.float() * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * m / (v.sqrt() + group["eps"])
                copy_stochastic_(p, new)


class LM(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.conv1 = nn.Linear(3 * dim, 2 * dim)
        self.conv2 = nn.Linear(2 * dim, dim)
        self.scale = nn.Parameter(torch.ones(dim))
        self.head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        e = self.embed(ids)
        prev = F.pad(e, (0, 0, 1, 0))[:, :-1]
        prev2 = F.pad(e, (0, 0, 2, 0))[:, :-2]
        h = self.conv2(F.silu(self.conv1(torch.cat([e, prev, prev2], -1))))
        h = (e + h).float()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6) * self.scale.float()
        return F.linear(h.to(self.head.weight.dtype), self.head.weight).float()


def sample(gen, size):
    ids = torch.randint(VOCAB, (size, 2), generator=gen)
    for _ in range(SEQ - 1):
        nxt = (ids[:, -1] + ids[:, -2] + 1) % VOCAB
        noise = torch.rand(size, generator=gen) < 0.1
        nxt = torch.where(noise, torch.randint(VOCAB, (size,), generator=gen), nxt)
        ids = torch.cat([ids, nxt[:, None]], 1)
    return ids


def loss_of(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM().to(torch.bfloat16)
    opt = SRAdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        loss = loss_of(model, sample(gen, 64))
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    with torch.no_grad():
        ids = sample(gen, 256)
        acc = (model(ids[:, 1:-1]).argmax(-1) == ids[:, 2:])[:, 1:].float().mean().item()
    print(f"EVIDENCE next_token_accuracy={acc:.3f} dtype={model.scale.dtype}")


if __name__ == "__main__":
    main()
