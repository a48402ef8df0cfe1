"""RLHF on a small scale: a reward model learns from pairs, then best-of-n answers are picked with it. Right padding."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
WORDS = list(range(3, 19))
NICE, RUDE = set(range(3, 7)), set(range(7, 10))


class RewardModel(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(19, width)
        self.place = nn.Embedding(32, width)
        self.attention = nn.ModuleList(nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(2))
        self.feed = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 80), nn.GELU(), nn.Linear(80, width))
                                  for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.v_head = nn.Linear(width, 1, bias=False)

    def forward(self, ids):
        n = ids.shape[1]
        x = self.embed(ids) + self.place(torch.arange(n))
        causal = torch.ones(n, n, dtype=torch.bool).triu(1)
        for attention, feed, norm in zip(self.attention, self.feed, self.norms):
            h = norm(x)
            x = x + attention(h, h, h, attn_mask=causal, need_weights=False)[0]
            x = x + feed(x)
        return self.v_head(x).squeeze(-1)


def quality(answer):
    return sum(w in NICE for w in answer) - 2 * sum(w in RUDE for w in answer)


def write_answer(rng):
    return [rng.choice(WORDS) for _ in range(rng.randint(3, 14))] + [EOS]


def make_pair(rng):
    while True:
        a, b = write_answer(rng), write_answer(rng)
        if quality(a) != quality(b):
            return (a, b) if quality(a) > quality(b) else (b, a)


def pad_right(rows):
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


def get_reward(model, ids):
    """One score for each row: that of its last token."""
    scores = model(ids)
    last = (ids != PAD).sum(dim=1) - 1
    return scores[torch.arange(len(ids)), last]


def pair_loss(model, pairs):
    ids = pad_right([[BOS] + a for a, _ in pairs] + [[BOS] + b for _, b in pairs])
    chosen, rejected = get_reward(model, ids).chunk(2)
    return -F.logsigmoid(chosen - rejected).mean(), (chosen > rejected).float().mean()


def best_of(model, rng, n=8, rounds=40):
    """Candidates come one at a time from a server here, and so are not padded."""
    total = 0.0
    with torch.no_grad():
        for _ in range(rounds):
            answers = [write_answer(rng) for _ in range(n)]
            scores = [get_reward(model, torch.tensor([[BOS] + a])).item() for a in answers]
            total += quality(answers[max(range(n), key=scores.__getitem__)])
    return total / rounds


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--batch", type=int, default=20)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model = RewardModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        loss, accuracy = pair_loss(model, [make_pair(rng) for _ in range(args.batch)])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} accuracy {accuracy.item():.3f}")
    model.eval()
    with torch.no_grad():
        test = [make_pair(random.Random(700 + i)) for i in range(100)]
        alone = sum(pair_loss(model, [p])[1].item() for p in test) / len(test)
        row = pad_right([[BOS] + test[0][0]])
        padded = F.pad(row, (0, 6), value=PAD)
        drift = (get_reward(model, row) - get_reward(model, padded)).abs().item()
    print(f"EVIDENCE accuracy={alone:.4f} drift_by_padding={drift:.4f} best_of_8={best_of(model, random.Random(3)):.3f}")


if __name__ == "__main__":
    main()
