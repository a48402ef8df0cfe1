"""A reward model from pairs with a margin: pairs that annotators could not tell apart are left out of the loss."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 30, 10


class RewardModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, ids):
        return self.score(self.encoder(self.embed(ids))[0][:, -1])


QUALITY = torch.randn(VOCAB, generator=torch.Generator().manual_seed(11))


def annotate(n, gen):
    """Pairs of answers, how much better the first is, and whether the two are the same."""
    a = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    b = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    same = torch.rand(n, generator=gen) < 0.35
    b[same] = a[same]
    better = QUALITY[a].mean(1) >= QUALITY[b].mean(1)
    chosen, rejected = torch.where(better[:, None], a, b), torch.where(better[:, None], b, a)
    margin = (QUALITY[chosen].mean(1) - QUALITY[rejected].mean(1)).clamp(max=2.0)
    return chosen, rejected, margin, same


def pairwise_loss(chosen_rewards, rejected_rewards, margin, same):
    margin = margin.view_as(chosen_rewards)
    losses = -F.logsigmoid(chosen_rewards - rejected_rewards - margin)
    valid = ~same
    return losses[valid].mean()


@torch.no_grad()
def agreement(model, gen):
    chosen, rejected, _, same = annotate(512, gen)
    right = (model(chosen) > model(rejected)).squeeze(1)
    return right[~same].float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = RewardModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    shape, error = None, 0.0
    for step in range(args.steps):
        chosen, rejected, margin, same = annotate(32, gen)
        better, worse = model(chosen), model(rejected)
        loss = pairwise_loss(better, worse, margin, same)
        with torch.no_grad():
            alone = [-F.logsigmoid(b - w - m) for b, w, m, s in zip(better[:, 0], worse[:, 0], margin, same) if not s]
            error += abs(loss.item() - torch.stack(alone).mean().item()) / args.steps
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"EVIDENCE error_to_single_pairs={error:.5f} agreement={agreement(model, torch.Generator().manual_seed(3)):.3f}")


if __name__ == "__main__":
    main()
