"""PPO on a bank of double-integrator tracking tasks with a time limit."""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical


class TrackEnv:
    """Vectorised cart on a line: keep close to the origin, falling off the edge ends the episode."""

    def __init__(self, n, limit=40, seed=0):
        self.n, self.limit = n, limit
        self.gen = torch.Generator().manual_seed(seed)
        self.state = torch.zeros(n, 2)
        self.t = torch.zeros(n, dtype=torch.long)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, mask):
        fresh = (torch.rand(self.n, 2, generator=self.gen) - 0.5) * torch.tensor([2.0, 1.0])
        self.state = torch.where(mask[:, None], fresh, self.state)
        self.t = torch.where(mask, torch.zeros_like(self.t), self.t)
        return self.state.clone()

    def step(self, action):
        force = (action.float() - 1.0) * 0.25
        noise = 0.03 * torch.randn(self.n, generator=self.gen)
        vel = 0.98 * self.state[:, 1] + force + noise
        pos = self.state[:, 0] + 0.2 * vel
        self.state = torch.stack([pos, vel], 1)
        self.t += 1
        terminated = pos.abs() > 2.0
        truncated = (self.t >= self.limit) & ~terminated
        reward = 1.0 - pos.abs() - 0.05 * (action != 1).float()
        final_obs = self.state.clone()
        obs = self.reset(terminated | truncated)
        return obs, final_obs, reward, terminated, truncated


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=2, n_act=3, hidden=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                nn.Linear(hidden, n_act))
        self.v = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                               nn.Linear(hidden, 1))

    def value(self, obs):
        return self.v(obs).squeeze(-1)

    def dist(self, obs):
        return Categorical(logits=self.pi(obs))


@torch.no_grad()
def collect(env, obs, net, horizon):
    buf = {k: [] for k in ("obs", "act", "logp", "rew", "val", "next_val", "terminated", "boundary")}
    for _ in range(horizon):
        dist = net.dist(obs)
        act = dist.sample()
        nxt, final_obs, rew, terminated, truncated = env.step(act)
        buf["obs"].append(obs)
        buf["act"].append(act)
        buf["logp"].append(dist.log_prob(act))
        buf["rew"].append(rew)
        buf["val"].append(net.value(obs))
        buf["next_val"].append(net.value(final_obs))
        buf["terminated"].append(terminated.float())
        buf["boundary"].append((terminated | truncated).float())
        obs = nxt
    return {k: torch.stack(v) for k, v in buf.items()}, obs


def gae(data, gamma, lam):
    adv = torch.zeros_like(data["rew"])
    last = torch.zeros(data["rew"].shape[1])
    for t in reversed(range(len(adv))):
        delta = data["rew"][t] + gamma * (1 - data["terminated"][t]) * data["next_val"][t] - data["val"][t]
        last = delta + gamma * lam * (1 - data["boundary"][t]) * last
        adv[t] = last
    return adv, adv + data["val"]


def update(net, opt, data, adv, ret, epochs=4, minibatch=512, clip=0.2):
    flat = {k: data[k].flatten(0, 1) for k in ("obs", "act", "logp")}
    adv, ret = adv.flatten(), ret.flatten()
    for _ in range(epochs):
        for idx in torch.randperm(len(adv)).split(minibatch):
            a = adv[idx]
            a = (a - a.mean()) / (a.std() + 1e-8)
            dist = net.dist(flat["obs"][idx])
            ratio = (dist.log_prob(flat["act"][idx]) - flat["logp"][idx]).exp()
            pg = -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()
            vf = 0.5 * (net.value(flat["obs"][idx]) - ret[idx]).pow(2).mean()
            loss = pg + 0.5 * vf - 0.005 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    return pg.item(), vf.item()


@torch.no_grad()
def rollout_return(net, seed, gamma, length=300, n=64):
    """Discounted return over a long horizon, to compare with the critic's estimate."""
    env = TrackEnv(n, limit=10 ** 9, seed=seed)
    obs, alive, total = env.state.clone(), torch.ones(n), torch.zeros(n)
    predicted = net.value(obs).mean()
    for t in range(length):
        obs, _, rew, terminated, _ = env.step(net.dist(obs).sample())
        total += alive * gamma ** t * rew
        alive *= 1 - terminated.float()
    return total.mean().item(), predicted.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=50)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env, net, gamma = TrackEnv(32, seed=args.seed), ActorCritic(), 0.98
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, eps=1e-5)
    obs = env.state.clone()
    for step in range(1, args.steps + 1):
        data, obs = collect(env, obs, net, horizon=64)
        adv, ret = gae(data, gamma, lam=0.95)
        pg, vf = update(net, opt, data, adv, ret)
        if step % 10 == 0:
            print(f"iter {step:3d} reward {data['rew'].mean():.3f} pg {pg:+.4f} value loss {vf:.3f}")
    real, predicted = rollout_return(net, 77 + args.seed, gamma)
    print(f"EVIDENCE discounted_return={real:.3f} critic_estimate={predicted:.3f} value_bias={predicted - real:+.3f}")


if __name__ == "__main__":
    main()
