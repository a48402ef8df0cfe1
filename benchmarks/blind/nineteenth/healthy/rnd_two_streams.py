"""PPO with random network distillation: a random target net that never learns, a predictor that learns from a
quarter of the data only, and two value heads, of which the curiosity one does not stop at the end of an episode."""
import argparse

import torch
import torch.nn as nn

SIDE, ENVS, T = 9, 32, 32


class SparseMaze:
    """The goal has to be reached within 40 moves; the agent sees the clock, curiosity looks at the place only."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.pos, self.age = torch.zeros(n, 2, dtype=torch.long), torch.zeros(n, dtype=torch.long)
        self.moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
        self.seen = torch.zeros(SIDE, SIDE)

    def obs(self):
        eye = torch.eye(SIDE)
        return torch.cat([eye[self.pos[:, 0]], eye[self.pos[:, 1]], self.age[:, None] / 40.0], 1)

    def step(self, a):
        self.pos = (self.pos + self.moves[a]).clamp(0, SIDE - 1)
        self.age += 1
        self.seen[self.pos[:, 0], self.pos[:, 1]] += 1
        goal = (self.pos == SIDE - 1).all(1)
        done = goal | (self.age >= 40)
        self.pos[done], self.age[done] = 0, 0
        return self.obs(), goal.float(), done.float()


class Agent(nn.Module):
    def __init__(self, dim=2 * SIDE + 1):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.v_ext, self.v_int = nn.Linear(64, 4), nn.Linear(64, 1), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v_ext(h).squeeze(-1), self.v_int(h).squeeze(-1)


def gae(r, v, last, cont, gamma, lam=0.95):
    adv, run, nxt = torch.zeros_like(r), torch.zeros(r.shape[1]), last
    for t in reversed(range(len(r))):
        run = r[t] + gamma * nxt * cont[t] - v[t] + gamma * lam * cont[t] * run
        adv[t], nxt = run, v[t]
    return adv


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=70)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    env, agent = SparseMaze(ENVS, torch.Generator().manual_seed(args.seed)), Agent()
    goal_net = nn.Sequential(nn.Linear(2 * SIDE, 64), nn.ReLU(), nn.Linear(64, 16)).requires_grad_(False)
    predictor = nn.Sequential(nn.Linear(2 * SIDE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    opt = torch.optim.Adam([*agent.parameters(), *predictor.parameters()], lr=args.lr)
    obs, wins, int_scale = env.obs(), 0.0, 1.0
    for step in range(args.steps):
        rows = []
        with torch.no_grad():
            for _ in range(T):
                d, ve, vi = agent(obs)
                a = d.sample()
                nxt, r, done = env.step(a)
                place = nxt[:, :-1]
                bonus = (goal_net(place) - predictor(place)).pow(2).mean(1)
                rows.append((obs, a, d.log_prob(a), ve, vi, r, bonus, done, place))
                obs = nxt
            o, a, lp, ve, vi, r, bonus, done, nx = (torch.stack(c) for c in zip(*rows))
            _, le, li = agent(obs)
            int_scale = 0.9 * int_scale + 0.1 * bonus.std().item() if step else bonus.std().item()
            bonus = bonus / (int_scale + 1e-6)
            adv_e = gae(r, ve, le, 1 - done, 0.97)
            adv_i = gae(bonus, vi, li, torch.ones_like(done), 0.95)
            adv = 2.0 * adv_e + 0.5 * adv_i
            adv = ((adv - adv.mean()) / (adv.std() + 1e-8)).flatten()
        flat = [x.flatten(0, 1) for x in (o, a, lp, adv_e + ve, adv_i + vi, nx)]
        for _ in range(3):
            for idx in torch.randperm(T * ENVS).split(256):
                fo, fa, flp, re, ri, fn = (x[idx] for x in flat)
                d, pe, pv = agent(fo)
                ratio = (d.log_prob(fa) - flp).exp()
                pg = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
                keep = (torch.rand(len(idx)) < 0.25).float()
                err = (predictor(fn) - goal_net(fn)).pow(2).mean(1)
                rnd = (err * keep).sum() / keep.sum().clamp(min=1)
                loss = pg + 0.5 * ((pe - re).pow(2).mean() + (pv - ri).pow(2).mean()) + rnd - 0.01 * d.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
        wins = r.sum().item()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss.item():+.4f} goals {wins:.0f} rnd {rnd.item():.5f}")
    print(f"EVIDENCE goals_last_rollout={wins:.0f} cells_seen={(env.seen > 0).sum().item()}")


if __name__ == "__main__":
    main()
