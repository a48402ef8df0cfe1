"""Soft actor-critic for an arm with six joints; the temperature is learned for a target entropy."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

JOINTS, OBS = 6, 12


class Bounded:
    def __init__(self, *shape):
        self.shape = torch.Size(shape)


class Composite(dict):
    """Specs by name; its own shape is that of the batch, and there is none."""

    shape = torch.Size()


class Arm:
    """All joints of many arms at once; each joint follows its command, and all shall reach a pose that is told."""

    def __init__(self, n):
        self.n, self.action_spec = n, Composite(action=Bounded(JOINTS))
        self.reset()

    def reset(self):
        self.pose, self.wish, self.t = torch.zeros(self.n, JOINTS), torch.rand(self.n, JOINTS) * 1.6 - 0.8, 0
        return self.observe()

    def observe(self):
        return torch.cat([self.pose, self.wish - self.pose], -1)

    def step(self, action):
        self.pose = self.pose + 0.3 * action + 0.01 * torch.randn_like(action)
        self.t += 1
        reward = -(self.wish - self.pose).pow(2).sum(-1, keepdim=True)
        return self.observe(), reward, self.t >= 10


def mlp(i, o, hidden=64):
    return nn.Sequential(nn.Linear(i, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, o))


class SACLoss(nn.Module):
    def __init__(self, action_spec, gamma=0.9, target_entropy="auto"):
        super().__init__()
        self.actor = mlp(OBS, 2 * JOINTS)
        self.qvalue = nn.ModuleList([mlp(OBS + JOINTS, 1), mlp(OBS + JOINTS, 1)])
        self.target_qvalue = nn.ModuleList([mlp(OBS + JOINTS, 1), mlp(OBS + JOINTS, 1)])
        self.target_qvalue.load_state_dict(self.qvalue.state_dict())
        self.target_qvalue.requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.gamma = gamma
        if target_entropy == "auto":
            target_entropy = -float(action_spec["action"].shape.numel())
        self.target_entropy = target_entropy

    def policy(self, obs):
        loc, scale = self.actor(obs).chunk(2, -1)
        base = Independent(Normal(loc, scale.clamp(-5, 1.0).exp()), 1)
        return TransformedDistribution(base, [TanhTransform(cache_size=1)])

    def smallest(self, nets, obs, action):
        x = torch.cat([obs, action], -1)
        return torch.min(nets[0](x), nets[1](x))

    def forward(self, obs, action, reward, next_obs):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            dist = self.policy(next_obs)
            next_action = dist.sample()
            value = self.smallest(self.target_qvalue, next_obs, next_action) - alpha * dist.log_prob(next_action)[:, None]
            target = reward + self.gamma * value
        x = torch.cat([obs, action], -1)
        loss_q = sum(F.smooth_l1_loss(q(x), target) for q in self.qvalue)
        self.qvalue.requires_grad_(False)
        dist = self.policy(obs)
        new_action = dist.rsample()
        log_prob = dist.log_prob(new_action)[:, None]
        loss_actor = (alpha * log_prob - self.smallest(self.qvalue, obs, new_action)).mean()
        self.qvalue.requires_grad_(True)
        loss_alpha = -(self.log_alpha * (log_prob.detach() + self.target_entropy)).mean()
        return loss_q, loss_actor, loss_alpha, -log_prob.mean().item()

    @torch.no_grad()
    def update_targets(self, tau=0.02):
        for t, q in zip(self.target_qvalue.parameters(), self.qvalue.parameters()):
            t.lerp_(q, tau)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=350)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    env = Arm(8)
    module = SACLoss(env.action_spec)
    optimizer = torch.optim.Adam([{"params": module.actor.parameters()}, {"params": module.qvalue.parameters()},
                                  {"params": [module.log_alpha], "lr": 8 * args.lr}], lr=args.lr)
    memory, obs, scores, total, entropies = [], env.reset(), [], 0.0, []
    for step in range(args.steps):
        with torch.no_grad():
            action = module.policy(obs).sample() if step > 20 else torch.rand(8, JOINTS) * 2 - 1
        next_obs, reward, done = env.step(action)
        memory.append((obs, action, reward, next_obs))
        obs, total = next_obs, total + reward.mean().item()
        if done:
            scores.append(total)
            obs, total = env.reset(), 0.0
        if step < 20:
            continue
        picks = torch.randint(0, len(memory), (8,)).tolist()
        batch = [torch.cat([memory[i][k] for i in picks]) for k in range(4)]
        loss_q, loss_actor, loss_alpha, entropy = module(*batch)
        optimizer.zero_grad()
        (loss_q + loss_actor + loss_alpha).backward()
        optimizer.step()
        module.update_targets()
        entropies.append(entropy)
        if step % 100 == 99:
            print(f"step {step + 1} q {loss_q.item():.4f} alpha {module.log_alpha.exp().item():.4f} entropy {entropy:.3f} score {scores[-1]:.2f}")
    print(f"EVIDENCE target_entropy={module.target_entropy:.1f} entropy={sum(entropies[-50:]) / 50:.3f} "
          f"alpha={module.log_alpha.exp().item():.4f} score={sum(scores[-5:]) / 5:.2f}")


if __name__ == "__main__":
    main()
