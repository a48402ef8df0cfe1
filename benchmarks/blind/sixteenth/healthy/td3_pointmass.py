"""TD3 on a small reaching task: random warm-up without learning, twin critics, delayed actor updates and target updates,
three optimizers, critic gradients that the actor's backward leaves behind."""
import argparse
import copy
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class Reacher:
    """n point masses in the plane; state = position, velocity, goal; action = acceleration."""

    def __init__(self, n, horizon=25):
        self.n, self.horizon = n, horizon
        self.reset()

    def reset(self):
        self.pos = torch.rand(self.n, 2) * 2 - 1
        self.vel = torch.zeros(self.n, 2)
        self.goal = torch.rand(self.n, 2) * 2 - 1
        self.t = 0
        return self.state()

    def state(self):
        return torch.cat([self.pos, self.vel, self.goal - self.pos], 1)

    def step(self, action):
        self.vel = 0.8 * self.vel + 0.1 * action
        self.pos = (self.pos + self.vel).clamp(-1.5, 1.5)
        self.t += 1
        reward = -(self.pos - self.goal).norm(dim=1) - 0.02 * action.square().sum(1)
        return self.state(), reward, self.t >= self.horizon  # time limit only: never a terminal for the backup


def mlp(*sizes):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(6, 64, 64, 2)

    def forward(self, s):
        return torch.tanh(self.net(s))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(8, 64, 64, 1)

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1)).squeeze(1)


class Ring:
    def __init__(self, size):
        self.s, self.a = torch.empty(size, 6), torch.empty(size, 2)
        self.r, self.s2 = torch.empty(size), torch.empty(size, 6)
        self.size, self.count = size, 0

    def add(self, s, a, r, s2):
        idx = (self.count + torch.arange(len(s))) % self.size
        self.s[idx], self.a[idx], self.r[idx], self.s2[idx] = s, a, r, s2
        self.count += len(s)

    def draw(self, n):
        i = torch.randint(min(self.count, self.size), (n,))
        return self.s[i], self.a[i], self.r[i], self.s2[i]


class TD3:
    def __init__(self, lr, gamma=0.9, tau=0.02, delay=2):
        self.actor, self.q1, self.q2 = Actor(), Critic(), Critic()
        self.targets = [copy.deepcopy(m).requires_grad_(False) for m in (self.actor, self.q1, self.q2)]
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.opt_q1 = torch.optim.Adam(self.q1.parameters(), lr=lr)
        self.opt_q2 = torch.optim.Adam(self.q2.parameters(), lr=lr)
        self.gamma, self.tau, self.delay, self.updates = gamma, tau, delay, 0

    @torch.no_grad()
    def act(self, s, noise):
        a = self.actor(s)
        return (a + noise * torch.randn_like(a)).clamp(-1, 1)

    def update(self, batch):
        s, a, r, s2 = batch
        t_actor, t_q1, t_q2 = self.targets
        with torch.no_grad():
            smooth = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
            a2 = (t_actor(s2) + smooth).clamp(-1, 1)
            goal = r + self.gamma * torch.minimum(t_q1(s2, a2), t_q2(s2, a2))
        losses = []
        for q, opt in ((self.q1, self.opt_q1), (self.q2, self.opt_q2)):
            loss = F.mse_loss(q(s, a), goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        self.updates += 1
        if self.updates % self.delay == 0:
            self.opt_actor.zero_grad()
            (-self.q1(s, self.actor(s)).mean()).backward()  # also fills q1's grads; they are zeroed before q1's next use
            self.opt_actor.step()
            with torch.no_grad():
                for online, target in zip((self.actor, self.q1, self.q2), self.targets):
                    torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), self.tau)
        return sum(losses) / 2


@torch.no_grad()
def mean_return(agent):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)  # the same evaluation episodes each time
        env = Reacher(64)
        s, total, over = env.state(), 0.0, False
        while not over:
            s, r, over = env.step(agent.actor(s))
            total += r.mean().item()
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=900)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    env, agent, memory = Reacher(8), TD3(args.lr), Ring(4000)
    first, critic_loss = mean_return(agent), float("nan")
    warmup = args.steps // 10
    s = env.state()
    for step in range(1, args.steps + 1):
        a = torch.rand(env.n, 2) * 2 - 1 if step <= warmup else agent.act(s, 0.15)
        s2, r, over = env.step(a)
        memory.add(s, a, r, s2)
        s = env.reset() if over else s2
        if step > warmup:
            critic_loss = agent.update(memory.draw(128))
        if step % 200 == 0:
            print(f"step {step} critic {critic_loss:.4f} return {mean_return(agent):.2f}")
    print(f"EVIDENCE return_before={first:.3f} return_after={mean_return(agent):.3f}")


if __name__ == "__main__":
    main()
