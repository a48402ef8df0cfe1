"""DPO with LoRA where the reference is the policy itself with its adapters switched off."""
import argparse
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PROMPT, ANSWER = 16, 3, 4


class LoRA(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        self.enabled = True

    def forward(self, x):
        y = self.base(x)
        return y + self.scale * (x @ self.A.T @ self.B.T) if self.enabled else y


class LM(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.head(h + self.mlp(h))


@contextmanager
def adapters_off(model):
    layers = [m for m in model.modules() if isinstance(m, LoRA)]
    for m in layers:
        m.enabled = False
    try:
        yield
    finally:
        for m in layers:
            m.enabled = True


def answer_logps(model, ids):
    logp = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return logp[:, PROMPT - 1:].sum(1)


def pairs(size, gen):
    """Both answers are plausible for the base model; ascending ones are preferred."""
    prompt = torch.randint(VOCAB, (size, PROMPT), generator=gen)
    up = (prompt[:, -1:] + torch.arange(1, ANSWER + 1)) % VOCAB
    down = (prompt[:, -1:] - torch.arange(1, ANSWER + 1)) % VOCAB
    return torch.cat([prompt, up], 1), torch.cat([prompt, down], 1)


def pretrain(model, gen, steps=80):
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(steps):
        ids = torch.cat(pairs(24, gen))
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2)[..., PROMPT - 1:], ids[:, PROMPT:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"base model ready, loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--steps", type=int, default=80)
    ap.add_argument("--beta", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM()
    pretrain(model, gen)
    model.requires_grad_(False)
    model.mlp[0], model.mlp[2], model.head = LoRA(model.mlp[0]), LoRA(model.mlp[2]), LoRA(model.head)
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.0)
    for step in range(args.steps):
        good, bad = pairs(32, gen)
        with torch.no_grad(), adapters_off(model):
            ref = answer_logps(model, good) - answer_logps(model, bad)
        margin = answer_logps(model, good) - answer_logps(model, bad) - ref
        loss = -F.logsigmoid(args.beta * margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step} dpo loss {loss.item():.4f} margin {margin.mean().item():+.3f}")
    with torch.no_grad():
        good, bad = pairs(300, gen)
        first = model(good[:, :PROMPT])[:, -1].log_softmax(-1)
        win = (first.gather(1, good[:, PROMPT:PROMPT + 1]) > first.gather(1, bad[:, PROMPT:PROMPT + 1]) + 1).float()
        argmax = (first.argmax(-1) == good[:, PROMPT]).float()
    print(f"EVIDENCE prefers_ascending={win.mean():.3f} says_it={argmax.mean():.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
