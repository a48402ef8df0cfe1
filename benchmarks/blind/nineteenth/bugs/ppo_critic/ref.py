"""PPO with a shared torso on a hand written pole balancing task (16 copies, auto reset)."""
import argparse

import torch
import torch.nn as nn


class PoleVec:
    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.state = self._fresh(n)
        self.age = torch.zeros(n)
        self.finished = []

    def _fresh(self, n):
        return torch.rand(n, 4, generator=self.gen) * 0.1 - 0.05

    def step(self, action):
        x, xd, th, thd = self.state.unbind(1)
        force = action.float() * 20 - 10
        cos, sin = th.cos(), th.sin()
        temp = (force + 0.05 * thd ** 2 * sin) / 1.1
        thacc = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos ** 2 / 1.1))
        xacc = temp - 0.05 * thacc * cos / 1.1
        self.state = torch.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], 1)
        self.age += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 0.21)
        reward = torch.ones(self.n)
        if done.any():
            self.finished += self.age[done].tolist()
            self.state[done] = self._fresh(int(done.sum()))
            self.age[done] = 0
        return self.state.clone(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)

    @torch.no_grad()
    def act(self, obs):
        h = self.torso(obs)
        dist = torch.distributions.Categorical(logits=self.pi(h))
        action = dist.sample()
        return action, dist.log_prob(action), self.v(h).squeeze(-1)

    def evaluate(self, obs, action):
        h = self.torso(obs)
        dist = torch.distributions.Categorical(logits=self.pi(h))
        return dist.log_prob(action), dist.entropy(), self.v(h).squeeze(-1)


def compute_gae(rewards, values, dones, last_value, gamma, lam):
    adv = torch.zeros_like(rewards)
    gae = torch.zeros(rewards.shape[1])
    nxt = last_value
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * nxt * alive - values[t]
        gae = delta + gamma * lam * alive * gae
        adv[t] = gae
        nxt = values[t]
    return adv, adv + values


def ppo_update(model, opt, batch, args):
    obs, act, old_logp, adv, ret = batch
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    n = len(obs)
    for _ in range(args.epochs):
        for idx in torch.randperm(n).split(args.minibatch):
            logp, entropy, values = model.evaluate(obs[idx], act[idx])
            ratio = torch.exp(logp - old_logp[idx])
            surr = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx])
            policy_loss = -surr.mean()
            value_loss = 0.5 * (ret[idx] - values).pow(2).mean()
            loss = policy_loss + args.vf_coef * value_loss - 0.005 * entropy.mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
    return policy_loss.item(), value_loss.item()


def explained_variance(values, returns):
    return (1 - (returns - values).var() / (returns.var() + 1e-8)).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--rollout", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--minibatch", type=int, default=256)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--lam", type=float, default=0.95)
    ap.add_argument("--vf-coef", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env = PoleVec(16, torch.Generator().manual_seed(args.seed + 11))
    model = ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, eps=1e-5)

    obs = env.state.clone()
    ev = []
    for step in range(args.steps):
        rows = []
        for _ in range(args.rollout):
            action, logp, value = model.act(obs)
            nxt, reward, done = env.step(action)
            rows.append((obs, action, logp, value, reward, done))
            obs = nxt
        o, a, lp, v, r, d = (torch.stack(col) for col in zip(*rows))
        last_value = model.act(obs)[2]
        adv, ret = compute_gae(r, v, d, last_value, args.gamma, args.lam)
        ev.append(explained_variance(v.flatten(), ret.flatten()))
        flat = (o.flatten(0, 1), a.flatten(), lp.flatten(), adv.flatten(), ret.flatten())
        pl, vl = ppo_update(model, opt, flat, args)
        if step % 10 == 0 or step == args.steps - 1:
            recent = env.finished[-32:]
            print(f"step {step:3d} pi {pl:+.4f} v {vl:8.3f} "
                  f"len {sum(recent) / max(len(recent), 1):.1f}")

    tail = sum(ev[-10:]) / len(ev[-10:])
    score = args.steps * args.rollout * 16 / max(len(env.finished), 1)
    print(f"EVIDENCE explained_variance={tail:.4f} steps_per_fall={score:.2f}")


if __name__ == "__main__":
    main()
