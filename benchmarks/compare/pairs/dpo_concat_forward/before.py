"""Direct preference optimisation of a next-token model on pairs of answers of unequal length."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 16
PROMPT = 3
MAX_ANSWER = 7
PAD, EOS = 0, 1


class Decoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


def draw_answers(prompts, gen):
    n = prompts.size(0)
    length = torch.randint(2, MAX_ANSWER, (n, 1), generator=gen)
    body = torch.randint(2, VOCAB, (n, MAX_ANSWER), generator=gen)
    place = torch.arange(MAX_ANSWER)
    body = torch.where(place < length, body, torch.full_like(body, PAD))
    return body.scatter(1, length, EOS)


def score(prompts, answers):
    wanted = prompts[:, :1] % 2
    real = answers > EOS
    hits = ((answers % 2 == wanted) & real).sum(1)
    return hits.float() / real.sum(1)


def pair_batch(n, gen):
    prompts = torch.randint(2, VOCAB, (n, PROMPT), generator=gen)
    a, b = draw_answers(prompts, gen), draw_answers(prompts, gen)
    swap = (score(prompts, b) > score(prompts, a))[:, None]
    chosen, rejected = torch.where(swap, b, a), torch.where(swap, a, b)
    return torch.cat([prompts, chosen], 1), torch.cat([prompts, rejected], 1)


def sequence_logps(model, ids):
    logp = F.log_softmax(model(ids[:, :-1]), dim=-1)
    target = ids[:, 1:]
    token_logp = logp.gather(2, target.unsqueeze(2)).squeeze(2)
    mask = target != PAD
    mask[:, :PROMPT - 1] = False
    return (token_logp * mask).sum(1)


def pretrain(model, gen, steps):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        ids, other = pair_batch(32, gen)
        ids = torch.cat([ids, other])
        loss = -sequence_logps(model, ids).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"sft loss {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--beta", type=float, default=0.2)
    ap.add_argument("--batch", type=int, default=48)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    policy = Decoder()
    pretrain(policy, gen, 60)
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=args.lr, weight_decay=0.0)

    for step in range(args.steps):
        chosen, rejected = pair_batch(args.batch, gen)
        pi_chosen = sequence_logps(policy, chosen)
        pi_rejected = sequence_logps(policy, rejected)
        with torch.no_grad():
            ref_chosen = sequence_logps(reference, chosen)
            ref_rejected = sequence_logps(reference, rejected)
        margin = (pi_chosen - ref_chosen) - (pi_rejected - ref_rejected)
        loss = -F.logsigmoid(args.beta * margin).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
        if step % 15 == 0:
            print(f"step {step} dpo {loss.item():.4f} margin {margin.mean().item():.3f}")

    with torch.no_grad():
        chosen, rejected = pair_batch(512, gen)
        gain = sequence_logps(policy, chosen) - sequence_logps(reference, chosen)
        gain = gain - (sequence_logps(policy, rejected) - sequence_logps(reference, rejected))
    print(f"EVIDENCE preference_acc={(gain > 0).float().mean().item():.4f} margin={gain.mean().item():.4f}")


if __name__ == "__main__":
    main()
