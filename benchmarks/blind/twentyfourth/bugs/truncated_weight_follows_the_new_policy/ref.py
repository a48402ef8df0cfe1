"""Clipped policy-gradient with several updates per rollout; the rollout engine rounds its weights, a truncated weight corrects it."""
import argparse
import copy

import torch
import torch.nn as nn

CONTEXTS, ACTIONS, LENGTH = 16, 10, 3


class Policy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.context, self.action = nn.Embedding(CONTEXTS, dim), nn.Embedding(ACTIONS + 1, dim)
        self.rnn, self.head = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, ACTIONS)

    def logits(self, contexts, actions):
        start = torch.full((len(actions), 1), ACTIONS)
        out, _ = self.rnn(self.action(torch.cat([start, actions], 1)), self.context(contexts)[None])
        return self.head(out)

    def log_probs(self, contexts, actions):
        return self.logits(contexts, actions)[:, :-1].log_softmax(-1).gather(2, actions[:, :, None]).squeeze(2)


class RolloutEngine:
    """Keeps a rounded copy of the weights, as engines with a low-bit format do."""

    def __init__(self, policy, step_size=0.12):
        self.policy, self.step_size = copy.deepcopy(policy), step_size

    @torch.no_grad()
    def sync(self, policy):
        for mine, theirs in zip(self.policy.parameters(), policy.parameters()):
            mine.copy_((theirs / self.step_size).round() * self.step_size)

    @torch.no_grad()
    def generate(self, contexts):
        actions, logps = torch.zeros(len(contexts), 0, dtype=torch.long), []
        for _ in range(LENGTH):
            dist = torch.distributions.Categorical(logits=self.policy.logits(contexts, actions)[:, -1])
            choice = dist.sample()
            logps.append(dist.log_prob(choice))
            actions = torch.cat([actions, choice[:, None]], 1)
        return actions, torch.stack(logps, 1)


def reward_of(contexts, actions):
    return (actions == (contexts[:, None] + torch.arange(LENGTH)) % ACTIONS).float().mean(1)


def policy_loss(log_probs, old_log_probs, rollout_log_probs, advantages, args):
    ratio = (log_probs - old_log_probs).exp()
    pg_loss = -torch.min(ratio * advantages, ratio.clamp(1 - args.eps_clip, 1 + args.eps_clip) * advantages)
    # the weight belongs to the batch: trainer at rollout time against engine at rollout time
    tis = torch.exp(old_log_probs - rollout_log_probs).clamp(max=args.tis_clip)
    return (tis * pg_loss).mean(), tis.detach(), ratio.detach()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--eps-clip", type=float, default=0.2)
    parser.add_argument("--tis-clip", type=float, default=2.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = Policy()
    engine = RolloutEngine(policy)
    engine.sync(policy)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    rewards, drift, far = [], [], []
    for step in range(args.steps):
        contexts = torch.randint(0, CONTEXTS, (8,)).repeat_interleave(8)
        actions, rollout_log_probs = engine.generate(contexts)
        reward = reward_of(contexts, actions)
        grouped = reward.view(-1, 8)
        advantages = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        with torch.no_grad():
            old_log_probs = policy.log_probs(contexts, actions)
        for epoch in range(4):
            log_probs = policy.log_probs(contexts, actions)
            loss, tis, ratio = policy_loss(log_probs, old_log_probs, rollout_log_probs, advantages, args)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            if epoch == 0:
                tis_at_start = tis
        drift.append((tis - tis_at_start).abs().mean().item())
        far.append(((ratio - 1).abs() > args.eps_clip).float().mean().item())
        rewards.append(reward.mean().item())
        engine.sync(policy)
        if step % 6 == 0:
            print(f"step {step} reward {rewards[-1]:.3f} tis {tis.mean().item():.3f} far {far[-1]:.3f}")
    print(f"EVIDENCE weight_drift={sum(drift) / len(drift):.5f} beyond_clip={sum(far) / len(far):.4f} reward={sum(rewards[-5:]) / 5:.4f}")


if __name__ == "__main__":
    main()
