"""Policy gradient with a KL penalty whose weight is steered: it goes up while the policy strays too far, and down again."""
import argparse
import copy

import torch
import torch.nn as nn

VOCAB, LENGTH, WIDTH = 10, 6, 32


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(VOCAB + 1, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0]).log_softmax(-1)


class AdaptiveKLController:
    """As of Ziegler et al.: proportional to the error, which is clipped."""

    def __init__(self, start, target, horizon):
        self.value, self.target, self.horizon = start, target, horizon

    def update(self, current, n):
        error = max(-0.2, min(0.2, current / self.target - 1))
        self.value *= 1 + error * n / self.horizon


@torch.no_grad()
def sample(policy, n):
    ids = torch.full((n, 1), VOCAB)
    for _ in range(LENGTH):
        ids = torch.cat([ids, torch.multinomial(policy(ids)[:, -1].exp(), 1)], 1)
    return ids


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer, controller = torch.optim.Adam(policy.parameters(), lr=args.lr), AdaptiveKLController(0.05, 3.0, 128)
    for step in range(args.steps):
        ids = sample(policy, 64)
        score = (ids[:, 2:] > ids[:, 1:-1]).float().sum(1)
        logps = policy(ids[:, :-1]).gather(2, ids[:, 1:, None]).squeeze(2)
        with torch.no_grad():
            kl = (logps - reference(ids[:, :-1]).gather(2, ids[:, 1:, None]).squeeze(2)).sum(1)
            reward = score - controller.value * kl
            advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(logps.sum(1) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        controller.update(kl.mean().item(), len(ids))
        if step % 20 == 19:
            print(f"step {step + 1} score {score.mean().item():.3f} kl {kl.mean().item():.3f} weight {controller.value:.4f}")


if __name__ == "__main__":
    main()
