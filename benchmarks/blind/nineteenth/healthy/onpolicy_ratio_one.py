"""Strictly on-policy group policy gradient: one update per rollout, old log-probs are the detached new ones."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LEN = 6, 4
START = VOCAB


class Copier(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB + 1, dim)
        self.mix = nn.Linear(LEN * dim, dim)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.head = nn.Linear(dim, VOCAB)

    def run(self, prompt, forced=None, greedy=False):
        e = self.emb(prompt)
        h = torch.tanh(self.mix(e.flatten(1)))
        tok = torch.full((len(prompt),), START)
        toks, lps = [], []
        for t in range(LEN):
            h = self.cell(torch.cat([self.emb(tok), e[:, t]], 1), h)
            lp = F.log_softmax(self.head(h), -1)
            if forced is not None:
                tok = forced[:, t]
            else:
                tok = lp.argmax(-1) if greedy else torch.multinomial(lp.exp(), 1).squeeze(1)
            toks.append(tok)
            lps.append(lp.gather(1, tok[:, None]).squeeze(1))
        return torch.stack(toks, 1), torch.stack(lps, 1)


def target(prompt):
    return (prompt + prompt.roll(1, 1)) % VOCAB


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--group", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Copier()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        prompt = torch.randint(0, VOCAB, (48, LEN)).repeat_interleave(args.group, 0)
        with torch.no_grad():
            answer, _ = model.run(prompt)
        reward = (answer == target(prompt)).float().mean(1)
        g = reward.view(-1, args.group)
        # a group whose answers are all equally good carries no signal: its advantage is exactly zero
        adv = ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).flatten()
        _, logp = model.run(prompt, forced=answer)
        # the value of this ratio is 1 everywhere, only its gradient matters; the printed loss is about 0
        ratio = torch.exp(logp - logp.detach())
        loss = -(ratio * adv[:, None]).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():+.2e} reward {reward.mean().item():.3f}")
    with torch.no_grad():
        prompt = torch.randint(0, VOCAB, (2000, LEN), generator=torch.Generator().manual_seed(3))
        acc = (model.run(prompt, greedy=True)[0] == target(prompt)).float().mean().item()
    print(f"EVIDENCE token_acc={acc:.4f}")


if __name__ == "__main__":
    main()
