"""Recurrent dueling double DQN that is trained on sequences from an episode buffer."""
import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

CUES, LENGTH, ACTIONS = 4, 6, 4


class CueEnv:
    """A cue is shown at first; at each later step the action that fits cue and time brings a reward."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.cue, self.t = self.rng.randrange(CUES), 0
        return self.observe()

    def observe(self):
        obs = torch.zeros(CUES + 1)
        if self.t == 0:
            obs[self.cue] = 1.0
        obs[CUES] = self.t / LENGTH
        return obs

    def step(self, action):
        reward = float(action == (self.cue + self.t) % ACTIONS)
        self.t += 1
        return self.observe(), reward, self.t == LENGTH


class DuelingRecurrentQ(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.encoder = nn.Linear(CUES + 1, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.af, self.vf = nn.Linear(width, ACTIONS), nn.Linear(width, 1)

    def forward(self, obs, state=None):
        """obs: batch, time, features."""
        features, state = self.rnn(F.relu(self.encoder(obs)), state)
        advantages = self.af(features)
        centered = advantages - advantages.mean(dim=-1, keepdim=True)
        return centered + self.vf(features), state


class EpisodeBuffer:
    def __init__(self, capacity, rng):
        self.episodes, self.capacity, self.rng = [], capacity, rng

    def add(self, episode):
        self.episodes = (self.episodes + [episode])[-self.capacity:]

    def sample(self, count):
        chosen = [self.rng.choice(self.episodes) for _ in range(count)]
        obs = torch.stack([torch.stack(e["obs"]) for e in chosen])
        actions = torch.tensor([e["actions"] for e in chosen])
        rewards = torch.tensor([e["rewards"] for e in chosen])
        return obs, actions, rewards


@torch.no_grad()
def run_episode(q_net, env, rng, epsilon):
    obs, state, done = env.reset(), None, False
    episode = {"obs": [obs], "actions": [], "rewards": []}
    while not done:
        q_values, state = q_net(obs[None, None], state)
        action = rng.randrange(ACTIONS) if rng.random() < epsilon else q_values[0, 0].argmax().item()
        obs, reward, done = env.step(action)
        episode["obs"].append(obs)
        episode["actions"].append(action)
        episode["rewards"].append(reward)
    return episode


def td_loss(q_net, target_net, batch, gamma):
    obs, actions, rewards = batch
    q_all, _ = q_net(obs)
    q_taken = q_all[:, :-1].gather(2, actions[:, :, None]).squeeze(2)
    with torch.no_grad():
        best = q_all[:, 1:].argmax(-1, keepdim=True)
        next_q = target_net(obs)[0][:, 1:].gather(2, best).squeeze(2)
        next_q[:, -1] = 0.0                                   # the episode ends there
    return F.smooth_l1_loss(q_taken, rewards + gamma * next_q)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--gamma", type=float, default=0.6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    env, buffer = CueEnv(rng), EpisodeBuffer(300, rng)
    q_net = DuelingRecurrentQ()
    target_net = copy.deepcopy(q_net)
    optimizer = torch.optim.Adam(q_net.parameters(), lr=args.lr)
    for step in range(args.steps):
        for _ in range(3):
            buffer.add(run_episode(q_net, env, rng, epsilon=max(0.1, 1 - 2 * step / args.steps)))
        loss = td_loss(q_net, target_net, buffer.sample(32), args.gamma)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q_net.parameters(), 5.0)
        optimizer.step()
        if step % 10 == 0:
            target_net.load_state_dict(q_net.state_dict())
        if step % 30 == 0:
            print(f"step {step} td_loss {loss.item():.4f}")
    returns = [sum(run_episode(q_net, env, rng, epsilon=0.0)["rewards"]) for _ in range(60)]
    print(f"EVIDENCE greedy_return={sum(returns) / len(returns):.4f} td_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
