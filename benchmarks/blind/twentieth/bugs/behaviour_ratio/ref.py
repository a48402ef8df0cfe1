"""Asynchronous RL: workers play with a policy that is some updates old, the learner corrects for it."""
import argparse
import collections
import copy

import torch
from torch import nn

STATES, ACTIONS = 8, 6
Episode = collections.namedtuple("Episode", "state action behavior_logprobs reward")


class TicketPolicy(nn.Module):
    """Picks the desk that should handle a support ticket of some kind."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(STATES, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, ACTIONS))

    def forward(self, state):
        return self.net(state).log_softmax(-1)


class Worker:
    def __init__(self, policy, payoff, gen, delay):
        self.payoff, self.gen, self.delay = payoff, gen, delay
        self.snapshots = collections.deque(maxlen=delay + 1)
        self.publish(policy)

    def publish(self, policy):
        self.snapshots.append(copy.deepcopy(policy).requires_grad_(False))

    def collect(self, n):
        stale = self.snapshots[0]
        state = torch.randint(STATES, (n,), generator=self.gen)
        logps = stale(state)
        action = torch.multinomial(logps.exp(), 1, generator=self.gen)
        noise = 0.3 * torch.randn(n, generator=self.gen)
        reward = self.payoff[state, action.squeeze(1)] + noise
        return Episode(state, action, logps.gather(1, action).squeeze(1), reward)


def policy_loss(logprobs, episode, baseline, clip=(0.0, 5.0)):
    advantages = episode.reward - baseline[episode.state]
    ratio = torch.exp(logprobs - episode.behavior_logprobs)
    weighted = ratio.clamp(*clip) * advantages
    return -weighted.mean(), ratio.detach()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=300)
    ap.add_argument("--delay", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    payoff = torch.rand(STATES, ACTIONS, generator=torch.Generator().manual_seed(14)) * 2
    policy = TicketPolicy()
    worker = Worker(policy, payoff, gen, args.delay)
    baseline = torch.zeros(STATES)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    spread, truth = [], []
    for step in range(args.steps):
        episode = worker.collect(128)
        logprobs = policy(episode.state).gather(1, episode.action).squeeze(1)
        loss, ratio = policy_loss(logprobs, episode, baseline)
        spread.append(ratio.std().item())
        truth.append((logprobs.detach() - episode.behavior_logprobs).exp().std().item())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        hits = torch.zeros(STATES).index_add_(0, episode.state, torch.ones(128))
        sums = torch.zeros(STATES).index_add_(0, episode.state, episode.reward)
        seen = hits > 0
        baseline[seen] = 0.9 * baseline[seen] + 0.1 * sums[seen] / hits[seen]
        worker.publish(policy)
        if step % 80 == 0:
            print(f"step {step} reward {episode.reward.mean():.3f} loss {loss.item():+.4f}")
    with torch.no_grad():
        expected = (policy(torch.arange(STATES)).exp() * payoff).sum(1)
    share = (expected / payoff.max(1).values).mean().item()
    print(f"EVIDENCE ratio_std_in_loss={sum(spread) / len(spread):.4f} "
          f"true_ratio_std={sum(truth) / len(truth):.4f} share_of_best={share:.3f}")


if __name__ == "__main__":
    main()
