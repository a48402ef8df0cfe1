"""Experts balanced without a loss: a bias that only chooses is moved by hand after each step, shared expert always on, sigmoid
scores; matrices by an orthogonalised momentum (Newton-Schulz) written here, the rest by AdamW; the length of texts grows."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=170)
opts = parser.parse_args()
torch.manual_seed(opts.seed)
torch.set_num_threads(1)
VOCAB, DIM = 40, 48


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, rounds=4):
        super().__init__(params, dict(lr=lr, momentum=momentum, rounds=rounds))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:  # an expert that nobody chose
                    continue
                buf = self.state[p].setdefault("momentum", torch.zeros_like(p))
                buf.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(buf, group["momentum"])
                p.add_(self.orthogonal(update, group["rounds"]), alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)

    @staticmethod
    def orthogonal(g, rounds):
        a, b, c = 3.4445, -4.7750, 2.0315
        x = g / (g.norm() + 1e-7)
        flip = x.size(0) > x.size(1)
        x = x.t() if flip else x
        for _ in range(rounds):
            s = x @ x.t()
            x = a * x + (b * s + c * s @ s) @ x
        return x.t() if flip else x


class Experts(nn.Module):
    def __init__(self, n=6, k=2, hidden=40):
        super().__init__()
        self.n, self.k = n, k
        self.score = nn.Linear(DIM, n, bias=False)
        self.up = nn.ParameterList([nn.Parameter(torch.randn(hidden, DIM) / DIM**0.5) for _ in range(n + 1)])
        self.down = nn.ParameterList([nn.Parameter(torch.zeros(DIM, hidden)) for _ in range(n + 1)])
        self.register_buffer("choice_bias", torch.zeros(n))
        self.register_buffer("tally", torch.zeros(n), persistent=False)

    def forward(self, x):
        flat = x.reshape(-1, DIM)
        scores = self.score(flat).sigmoid()
        chosen = (scores + self.choice_bias).topk(self.k, dim=-1).indices
        weight = scores.gather(1, chosen)
        weight = weight / weight.sum(1, keepdim=True)
        out = F.linear(F.relu(F.linear(flat, self.up[-1])).square(), self.down[-1])  # shared by all
        for i in range(self.n):
            row, slot = (chosen == i).nonzero(as_tuple=True)
            if len(row) == 0:
                continue
            y = F.linear(F.relu(F.linear(flat[row], self.up[i])).square(), self.down[i])
            out = out.index_add(0, row, y * weight[row, slot].unsqueeze(1))
        if self.training:
            self.tally += torch.bincount(chosen.flatten(), minlength=self.n)
        return out.view_as(x)

    @torch.no_grad()
    def rebalance(self, speed):
        self.choice_bias += speed * torch.sign(self.tally.mean() - self.tally)
        load = self.tally / self.tally.sum()
        self.tally.zero_()
        return load


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(DIM, DIM, bias=False) for _ in range(3))
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.experts = Experts()
        self.gain = nn.Parameter(torch.ones(2))

    def heads(self, x):
        return x.unflatten(-1, (4, -1)).transpose(1, 2)

    def forward(self, x):
        h = F.rms_norm(x, (DIM,)) * self.gain[0]
        q, k = (F.rms_norm(self.heads(f(h)), (DIM // 4,)) for f in (self.q, self.k))
        att = F.scaled_dot_product_attention(q, k, self.heads(self.v(h)), is_causal=True)
        x = x + self.o(att.transpose(1, 2).flatten(2))
        return x + self.experts(F.rms_norm(x, (DIM,)) * self.gain[1])


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(40, DIM)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        for b in self.blocks:
            x = b(x)
        return 15 * torch.tanh(self.head(F.rms_norm(x, (DIM,))) / 15)


CHAIN = (2.5 * torch.randn(3, VOCAB, VOCAB, generator=torch.Generator().manual_seed(8))).softmax(-1)


def texts(n, length, rng):
    kind = torch.randint(0, 3, (n,), generator=rng)
    w = torch.randint(0, VOCAB, (n,), generator=rng)
    out = [w]
    for _ in range(length):
        w = torch.multinomial(CHAIN[kind, w], 1, generator=rng)[:, 0]
        out.append(w)
    return torch.stack(out, 1)


model = LM()
matrices = [p for n, p in model.blocks.named_parameters() if p.ndim == 2]
names = {id(p) for p in matrices}
rest = [p for p in model.parameters() if id(p) not in names]
muon = Muon(matrices, lr=opts.lr)
adam = torch.optim.AdamW(rest, lr=opts.lr / 4, betas=(0.8, 0.95), weight_decay=0.0)
rng = torch.Generator().manual_seed(opts.seed + 77)
for step in range(opts.steps):
    done = step / opts.steps
    length = 12 if done < 0.3 else 24 if done < 0.7 else 36
    cool = min(1.0, (1 - done) / 0.4)  # constant, then linear to nought
    for opt, base in ((muon, opts.lr), (adam, opts.lr / 4)):
        opt.param_groups[0]["lr"] = base * cool
    muon.param_groups[0]["momentum"] = min(0.95, 0.85 + step / 500)
    ids = texts(576 // length, length, rng)
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    z = 1e-4 * logits.logsumexp(-1).square().mean()
    model.zero_grad(set_to_none=True)
    (loss + z).backward()
    muon.step()
    adam.step()
    loads = [b.experts.rebalance(0.02 if done < 0.8 else 0.0) for b in model.blocks]
    if (step + 1) % 40 == 0:
        print(f"step {step + 1} length {length} loss {loss.item():.3f} load {[round(v, 2) for v in loads[0].tolist()]}")
model.eval()
with torch.no_grad():
    ids = texts(60, 36, torch.Generator().manual_seed(4))
    nll = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
print(f"EVIDENCE nats per word {nll.item():.3f}")
