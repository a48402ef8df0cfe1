"""DPO with a reference that comes along: each fifteen steps it is replaced by the policy (TR-DPO, hard updates)."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 14, 8


class LM(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(VOCAB + 1, width), nn.GRU(width, width, batch_first=True), nn.Linear(width, VOCAB)

    def logps(self, ids):
        start = torch.full((len(ids), 1), VOCAB)
        logits = self.head(self.rnn(self.embed(torch.cat([start, ids[:, :-1]], 1)))[0])
        return logits.log_softmax(-1).gather(2, ids[..., None]).squeeze(-1).sum(1)


def pairs(gen, n=24):
    """The chosen row has more even words than the rejected one."""
    a, b = torch.randint(0, VOCAB, (2, n, LENGTH), generator=gen)
    better = ((a % 2 == 0).sum(1) >= (b % 2 == 0).sum(1))[:, None]
    return torch.where(better, a, b), torch.where(better, b, a)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--sync-every", type=int, default=15)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = LM()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=args.lr)
    for step in range(args.steps):
        chosen, rejected = pairs(gen)
        with torch.no_grad():
            base = reference.logps(chosen) - reference.logps(rejected)
        margin = policy.logps(chosen) - policy.logps(rejected) - base
        loss = -F.logsigmoid(0.1 * margin).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % args.sync_every == 0:
            reference.load_state_dict(policy.state_dict())       # the loss is log 2 again after this
            print(f"step {step + 1} loss {loss.item():.4f} margin {margin.mean().item():.3f}, the reference comes along")
    chosen, rejected = pairs(torch.Generator().manual_seed(6), 200)
    with torch.no_grad():
        print(f"policy prefers the chosen rows in {(policy.logps(chosen) > policy.logps(rejected)).float().mean():.3f}")


if __name__ == "__main__":
    main()
