"""A rollout process and a trainer process (gloo) learn a slippery grid walk with clipped policy gradients."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

TRAINER, ROLLOUT = 0, 1
SIZE, HORIZON, ENVS = 6, 20, 64
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class GridBatch:
    """Walk to the goal; both positions are part of the observation."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen

    def reset(self):
        self.pos = torch.randint(0, SIZE, (self.n, 2), generator=self.gen)
        self.goal = torch.randint(0, SIZE, (self.n, 2), generator=self.gen)
        return self.obs()

    def obs(self):
        eye = torch.eye(SIZE)
        parts = [eye[self.pos[:, 0]], eye[self.pos[:, 1]], eye[self.goal[:, 0]], eye[self.goal[:, 1]]]
        return torch.cat(parts, 1)

    def step(self, action):
        slip = torch.rand(self.n, generator=self.gen) < 0.1
        noise = torch.randint(0, 4, (self.n,), generator=self.gen)
        action = torch.where(slip, noise, action)
        before = (self.pos - self.goal).abs().sum(1)
        self.pos = (self.pos + MOVES[action]).clamp(0, SIZE - 1)
        after = (self.pos - self.goal).abs().sum(1)
        reward = (before - after).float() * 0.1 + (after == 0).float()
        return self.obs(), reward


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4 * SIZE, 96), nn.Tanh(), nn.Linear(96, 4))

    def dist(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))


def sync_policy(policy):
    for tensor in policy.state_dict().values():
        dist.broadcast(tensor, src=TRAINER)


@torch.no_grad()
def collect(policy, env, gamma=0.9):
    obs = env.reset()
    rows = []
    for _ in range(HORIZON):
        d = policy.dist(obs)
        a = d.sample()
        nxt, r = env.step(a)
        rows.append((obs, a, d.log_prob(a), r))
        obs = nxt
    obs, act, logp, rew = (torch.stack(x) for x in zip(*rows))
    ret = torch.zeros_like(rew)
    run = torch.zeros(env.n)
    for t in reversed(range(HORIZON)):
        run = rew[t] + gamma * run
        ret[t] = run
    return {"obs": obs, "act": act.float(), "logp": logp, "ret": ret, "rew": rew}


def exchange(batch):
    shapes = {"obs": (HORIZON, ENVS, 4 * SIZE), "act": (HORIZON, ENVS), "logp": (HORIZON, ENVS),
              "ret": (HORIZON, ENVS), "rew": (HORIZON, ENVS)}
    if batch is None:
        batch = {k: torch.empty(s) for k, s in shapes.items()}
    for k in shapes:
        dist.broadcast(batch[k].contiguous() if dist.get_rank() == ROLLOUT else batch[k], src=ROLLOUT)
    return batch


def update(policy, opt, batch, epochs=3, clip=0.2):
    obs, act, old = batch["obs"].flatten(0, 1), batch["act"].flatten().long(), batch["logp"].flatten()
    adv = batch["ret"] - batch["ret"].mean(1, keepdim=True)
    adv = (adv / (adv.std() + 1e-6)).flatten()
    for _ in range(epochs):
        d = policy.dist(obs)
        ratio = torch.exp(d.log_prob(act) - old)
        loss = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = loss - 0.003 * d.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def worker(rank, args, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(args.seed)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    env = GridBatch(ENVS, torch.Generator().manual_seed(args.seed + 17))

    for step in range(args.steps):
        sync_policy(policy)
        if rank == ROLLOUT:
            exchange(collect(policy, env))
        else:
            batch = exchange(None)
            loss = update(policy, opt, batch)
            if step % 20 == 0 or step == args.steps - 1:
                print(f"step {step:4d} loss {loss:+.4f} rollout return {batch['rew'].sum(0).mean().item():.3f}")

    if rank == TRAINER:
        torch.manual_seed(999)
        test = GridBatch(512, torch.Generator().manual_seed(999))
        score = collect(policy, test)["rew"].sum(0).mean().item()
        print(f"EVIDENCE trainer_return={score:.4f} last_rollout_return={batch['rew'].sum(0).mean().item():.4f}")
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=70)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(args, port), nprocs=2)


if __name__ == "__main__":
    main()
