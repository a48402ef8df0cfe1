"""Warm-up, long stable phase, then coolings branched off one checkpoint; low-rank projected Adam by hand.

The stable run saves itself on the way; from two of these checkpoints a short and a long cooling are run in objects
of their own, the better one is kept. Matrices step in a subspace that is renewed now and then (GaLore), vectors
by plain Adam; micro-batches run under autocast to bfloat16 while weights stay in single precision.
"""
import argparse
import copy
import io
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Optimizer


class ProjectedAdamW(Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0, rank=0, renew=40):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, rank=rank, renew=renew))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                g = p.grad
                st.setdefault("step", 0)
                low_rank = group["rank"] and p.ndim == 2 and min(p.shape) > group["rank"]
                if low_rank:
                    if st["step"] % group["renew"] == 0:
                        u, _, _ = torch.linalg.svd(g, full_matrices=False)
                        new = u[:, : group["rank"]].contiguous()
                        if "basis" in st:  # moments are carried over into the new subspace
                            turn = new.t() @ st["basis"]
                            st["m"] = turn @ st["m"]
                            st["v"] = turn.square() @ st["v"]
                        st["basis"] = new
                    g = st["basis"].t() @ g
                if "m" not in st:
                    st["m"], st["v"] = torch.zeros_like(g), torch.zeros_like(g)
                st["step"] += 1
                st["m"].lerp_(g, 1 - b1)
                st["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
                m = st["m"] / (1 - b1 ** st["step"])
                v = st["v"] / (1 - b2 ** st["step"])
                update = m / (v.sqrt() + group["eps"])
                if low_rank:
                    update = st["basis"] @ update
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"])
        return loss


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 3 * dim), nn.Linear(3 * dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Model(nn.Module):
    def __init__(self, vocab, dim=48, length=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Parameter(0.02 * torch.randn(length, dim))
        self.blocks = nn.ModuleList(Block(dim, 4) for _ in range(2))
        self.norm = nn.RMSNorm(dim)
        nn.init.normal_(self.tok.weight, std=0.02)

    def forward(self, ids):
        x = self.tok(ids) + self.pos[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tok.weight.t()


def corpus(n, vocab, gen):
    """A chain of second order with few likely followers."""
    table = torch.randint(0, vocab, (vocab, 4), generator=gen)
    ids = [int(v) for v in torch.randint(0, vocab, (2,), generator=gen)]
    pick = torch.multinomial(torch.tensor([0.7, 0.2, 0.07, 0.03]), n, replacement=True, generator=gen).tolist()
    table = table.tolist()
    for k in pick:
        ids.append((table[ids[-1]][k] + (ids[-2] % 3)) % vocab)
    return torch.tensor(ids)


class Run:
    def __init__(self, vocab, args):
        self.model = Model(vocab)
        matrices = [p for n, p in self.model.named_parameters() if p.ndim == 2 and "blocks" in n]
        others = [p for n, p in self.model.named_parameters() if not (p.ndim == 2 and "blocks" in n)]
        self.opt = ProjectedAdamW(
            [{"params": matrices, "rank": 12, "weight_decay": 0.05}, {"params": others, "lr": args.lr / 2}], lr=args.lr
        )
        self.peak = [g["lr"] for g in self.opt.param_groups]
        self.step = 0

    def set_rate(self, factor):
        for g, peak in zip(self.opt.param_groups, self.peak):
            g["lr"] = peak * factor

    def save(self):
        file = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "step": self.step}, file)
        return file.getvalue()

    def load(self, blob):
        state = torch.load(io.BytesIO(blob), weights_only=False)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.step = state["step"]
        return self

    def train_step(self, data, gen, micro):
        self.opt.zero_grad(set_to_none=True)
        total = 0.0
        for _ in range(micro):
            at = torch.randint(0, len(data) - 33, (12,), generator=gen)
            rows = torch.stack([data[a : a + 33] for a in at.tolist()])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = self.model(rows[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten()) / micro
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if not torch.isfinite(norm):
            return total
        self.opt.step()
        self.step += 1
        return total

    @torch.no_grad()
    def test(self, data):
        self.model.eval()
        rows = data[: len(data) // 33 * 33].view(-1, 33)
        loss = F.cross_entropy(self.model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        self.model.train()
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 3)
    vocab = 40
    ids = corpus(42000, vocab, gen)
    train, held = ids[:38000], ids[38000:]

    run = Run(vocab, args)
    warm = max(1, args.steps // 12)
    marks = {args.steps // 2: 0.35, args.steps * 3 // 4: 0.2}  # step: how long its cooling is
    kept = {}
    for step in range(args.steps * 3 // 4 + 1):
        if step in marks:
            kept[step] = run.save()
        run.set_rate(min(1.0, (step + 1) / warm))
        loss = run.train_step(train, gen, micro=1 if step < warm else 2)
        if step % 40 == 0:
            print(f"stable {step:4d}  loss {loss:.4f}")
    best, best_loss = None, math.inf
    for start, part in marks.items():
        branch = Run(vocab, args).load(kept[start])
        length = max(1, int(args.steps * part))
        for k in range(length):
            branch.set_rate(1 - math.sqrt((k + 1) / length))
            loss = branch.train_step(train, gen, micro=2)
        score = branch.test(held)
        print(f"cooled from {start} over {length} steps: loss {loss:.4f}  held-out {score:.4f}")
        if score < best_loss:
            best, best_loss = copy.deepcopy(branch.model), score
    print(f"EVIDENCE held-out: stable {run.test(held):.4f} best cooled {best_loss:.4f} parameters {sum(p.numel() for p in best.parameters())}")


if __name__ == "__main__":
    main()
