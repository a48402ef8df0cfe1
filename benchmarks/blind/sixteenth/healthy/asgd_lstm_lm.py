"""Word LM in the AWD-LSTM style: truncated BPTT of random length with a carried hidden state, tied
weights, weight-dropped recurrent matrix, and a switch to averaged SGD once validation stalls."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def markov_stream(vocab, n, gen, succ):
    probs = torch.tensor([0.7, 0.2, 0.1])
    picks = torch.multinomial(probs, n, replacement=True, generator=gen).tolist()
    table, cur, out = succ.tolist(), 0, []
    for p in picks:
        cur = table[cur][p]
        out.append(cur)
    return torch.tensor(out)


def batchify(ids, bsz):
    n = len(ids) // bsz
    return ids[: n * bsz].view(bsz, n).t().contiguous()


class WeightDropLSTM(nn.Module):
    """Keeps the raw recurrent matrix as the parameter; the masked copy is made anew every forward."""

    def __init__(self, d_in, d_hid, drop):
        super().__init__()
        self.w_ih = nn.Parameter(torch.empty(4 * d_hid, d_in).uniform_(-0.1, 0.1))
        self.w_hh_raw = nn.Parameter(torch.empty(4 * d_hid, d_hid).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(4 * d_hid))
        self.drop, self.d_hid = drop, d_hid

    def forward(self, x, state):
        w_hh = F.dropout(self.w_hh_raw, self.drop, self.training)
        pre = F.linear(x, self.w_ih, self.bias)
        h, c = state
        outs = []
        for t in range(x.shape[0]):
            i, f, g, o = (pre[t] + h @ w_hh.t()).chunk(4, dim=-1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs), (h, c)


class AWDModel(nn.Module):
    def __init__(self, vocab, d=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        nn.init.uniform_(self.emb.weight, -0.1, 0.1)
        self.rnn = WeightDropLSTM(d, d, 0.2)
        self.head = nn.Linear(d, vocab)
        self.head.weight = self.emb.weight
        self.d = d

    def init_state(self, bsz):
        return torch.zeros(bsz, self.d), torch.zeros(bsz, self.d)

    def locked_dropout(self, x, p):
        if not self.training:
            return x
        return x * x.new_empty(1, x.shape[1], x.shape[2]).bernoulli_(1 - p) / (1 - p)

    def forward(self, ids, state):
        raw, state = self.rnn(self.locked_dropout(self.emb(ids), 0.1), state)
        out = self.locked_dropout(raw, 0.1)
        return self.head(out), state, raw, out


@torch.no_grad()
def evaluate(model, stream, bptt=25):
    model.eval()
    state, loss, n = model.init_state(stream.shape[1]), 0.0, 0
    for i in range(0, len(stream) - 1, bptt):
        x = stream[i: i + bptt]
        y = stream[i + 1: i + 1 + bptt]
        x = x[: len(y)]
        logits, state, _, _ = model(x, state)
        loss += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        n += y.numel()
    model.train()
    return loss / n


def evaluate_averaged(model, opt, stream):
    """Swap the ASGD averages in for evaluation and put the raw weights back afterwards."""
    backup = {p: p.data.clone() for p in model.parameters()}
    for p in model.parameters():
        if "ax" in opt.state[p]:
            p.data = opt.state[p]["ax"].clone()
    loss = evaluate(model, stream)
    for p in model.parameters():
        p.data = backup[p].clone()
    return loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8.0)
    ap.add_argument("--steps", type=int, default=240)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    vocab = 40
    succ = torch.randint(0, vocab, (vocab, 3), generator=gen)
    train = batchify(markov_stream(vocab, 12000, gen, succ), 20)
    valid = batchify(markov_stream(vocab, 3000, gen, succ), 20)

    model = AWDModel(vocab)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=1.2e-6)
    history, pos, state, bptt = [], 0, model.init_state(20), 20
    first = evaluate(model, valid)
    for step in range(1, args.steps + 1):
        if pos >= len(train) - 2:
            pos, state = 0, model.init_state(20)
        mean_len = bptt if torch.rand(()) < 0.95 else bptt / 2
        seq = max(5, int(torch.normal(float(mean_len), 3.0, (1,))))
        seq = min(seq, len(train) - 1 - pos)
        x, y = train[pos: pos + seq], train[pos + 1: pos + 1 + seq]
        pos += seq

        base = opt.param_groups[0]["lr"]
        opt.param_groups[0]["lr"] = base * seq / bptt
        state = tuple(s.detach() for s in state)
        opt.zero_grad()
        logits, state, raw, out = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        reg = loss + 0.5 * out.pow(2).mean()
        if seq > 1:
            reg = reg + 0.25 * (raw[1:] - raw[:-1]).pow(2).mean()
        reg.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        opt.param_groups[0]["lr"] = base

        if step % 20 == 0:
            averaging = isinstance(opt, torch.optim.ASGD)
            val = evaluate_averaged(model, opt, valid) if averaging else evaluate(model, valid)
            print(f"{step:4d} {'asgd' if averaging else 'sgd '} loss {loss.item():.3f} val {val:.3f} ppl {math.exp(val):.1f}")
            if not averaging and len(history) > 3 and val > min(history[:-2]) - 0.1:
                print("validation stalled: averaging from here")
                opt = torch.optim.ASGD(model.parameters(), lr=args.lr, t0=0, lambd=0.0, weight_decay=1.2e-6)
            history.append(val)

    averaging = isinstance(opt, torch.optim.ASGD)
    final = evaluate_averaged(model, opt, valid) if averaging else evaluate(model, valid)
    print(f"EVIDENCE val_first={first:.4f} val_final={final:.4f} averaged={int(averaging)}")


if __name__ == "__main__":
    main()
