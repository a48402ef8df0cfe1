"""Language model in the manner of AWD-LSTM: windows of random length with a rate in proportion, weights of the recurrence
dropped, one mask of dropout for all times, activation penalties, and SGD that turns into averaged SGD when validation stalls."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--lr", type=float, default=4.0)
ap.add_argument("--steps", type=int, default=420)
args = ap.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, DIM, HIDDEN, ROWS = 36, 32, 64, 16


def text(length, seed):
    g = torch.Generator().manual_seed(seed)
    chain = F.softmax(2.5 * torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(2)), dim=-1)
    w, out = 0, []
    noise = torch.rand(length, generator=g)
    cumulated = chain.cumsum(-1)
    for i in range(length):
        w = min(int(torch.searchsorted(cumulated[w], noise[i])), VOCAB - 1)
        out.append(w)
    return torch.tensor(out)


def in_rows(stream, rows):
    n = len(stream) // rows
    return stream[: n * rows].view(rows, n).t().contiguous()  # time first


def locked(x, p, training):
    if not training or p == 0:
        return x
    return x * x.new_empty(1, *x.shape[1:]).bernoulli_(1 - p) / (1 - p)


class DroppedLSTM(nn.Module):
    """A cell by hand whose recurrent matrix loses connections, the same for a whole window."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.w_ih = nn.Parameter(torch.empty(4 * n_out, n_in).uniform_(-0.1, 0.1))
        self.w_hh = nn.Parameter(torch.empty(4 * n_out, n_out).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(4 * n_out))
        with torch.no_grad():
            self.bias[n_out : 2 * n_out] = 1.0

    def forward(self, x, state):
        h, c = state
        w_hh = F.dropout(self.w_hh, 0.3, self.training)
        gates_x = F.linear(x, self.w_ih, self.bias)
        out = []
        for g in gates_x:
            i, f, o, z = (g + h @ w_hh.t()).chunk(4, dim=-1)
            c = f.sigmoid() * c + i.sigmoid() * z.tanh()
            h = o.sigmoid() * c.tanh()
            out.append(h)
        return torch.stack(out), (h, c)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.cell = DroppedLSTM(DIM, HIDDEN)
        self.down = nn.Linear(HIDDEN, DIM)
        self.bias = nn.Parameter(torch.zeros(VOCAB))
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)

    def forward(self, ids, state):
        kept = self.embed.weight
        if self.training:  # whole words are dropped
            kept = kept * kept.new_empty(VOCAB, 1).bernoulli_(0.95) / 0.95
        raw, state = self.cell(locked(F.embedding(ids, kept), 0.1, self.training), state)
        out = locked(raw, 0.1, self.training)
        return F.linear(self.down(out), self.embed.weight, self.bias), state, raw, out


def zero_state(rows):
    return torch.zeros(rows, HIDDEN), torch.zeros(rows, HIDDEN)


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    state, total = zero_state(data.size(1)), 0.0
    for i in range(0, len(data) - 1, 50):
        x, y = data[i : i + 50][: len(data) - 1 - i], data[i + 1 : i + 51]
        logits, state, _, _ = model(x, state)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
    model.train()
    return total / ((len(data) - 1) * data.size(1))


train, valid = in_rows(text(20000, 10 + args.seed), ROWS), in_rows(text(4000, 999), 8)
model = LM()
opt = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=1.2e-6)
history, step, state, at, switched = [], 0, zero_state(ROWS), 0, None
while step < args.steps:
    base = 24 if torch.rand(()) < 0.95 else 12
    window = max(5, int(torch.normal(float(base), 4.0, (1,))))
    if at + window + 1 > len(train):
        at, state = 0, zero_state(ROWS)
    x, y = train[at : at + window], train[at + 1 : at + 1 + window]
    at += window
    state = tuple(s.detach() for s in state)
    usual = opt.param_groups[0]["lr"]
    opt.param_groups[0]["lr"] = usual * window / 24
    logits, state, raw, out = model(x, state)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    penalty = 0.5 * out.pow(2).mean() + 0.3 * (raw[1:] - raw[:-1]).pow(2).mean()
    opt.zero_grad()
    (loss + penalty).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    opt.step()
    opt.param_groups[0]["lr"] = usual
    step += 1

    if step % 20 == 0:
        if switched is None:
            score = evaluate(model, valid)
            if len(history) > 3 and score > min(history[:-2]) - 0.01:
                opt = torch.optim.ASGD(model.parameters(), lr=usual, t0=0, lambd=0.0, weight_decay=1.2e-6)
                switched = step
            history.append(score)
        else:  # the averages are put in for the validation and taken out again
            held = {p: p.detach().clone() for p in model.parameters()}
            for p in model.parameters():
                if p in opt.state and "ax" in opt.state[p]:
                    p.data.copy_(opt.state[p]["ax"])
            history.append(evaluate(model, valid))
            for p, value in held.items():
                p.data.copy_(value)
if switched is not None:
    for p in model.parameters():
        if p in opt.state and "ax" in opt.state[p]:
            p.data.copy_(opt.state[p]["ax"])
print(f"switched to averaging at step {switched}, validation {[round(h, 2) for h in history]}")
print(f"EVIDENCE perplexity {math.exp(evaluate(model, valid)):.2f} of {VOCAB}")
