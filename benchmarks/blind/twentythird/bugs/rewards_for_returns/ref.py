"""PPO for sequences with a reward at the end and a KL penalty on the way: A_t = G_t - V(s_t)."""
import argparse
import copy

import torch
from torch import nn

VOCAB, START, STOP, PAD = 11, 0, 1, 10
MAX_NEW = 10


class Actor(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.lm = nn.Linear(width, VOCAB)
        self.value = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        logits = self.lm(h)
        mask = torch.zeros(VOCAB)
        mask[[START, PAD]] = -1e9
        return logits + mask, self.value(h.detach()).squeeze(-1)


def rollout(model, n):
    ids, alive = torch.full((n, 1), START), torch.ones(n, dtype=torch.bool)
    masks = []
    with torch.no_grad():
        for _ in range(MAX_NEW):
            token = torch.multinomial(model(ids)[0][:, -1].softmax(-1), 1).squeeze(1)
            token = torch.where(alive, token, PAD)
            masks.append(alive.float())
            alive = alive & (token != STOP)
            ids = torch.cat([ids, token[:, None]], 1)
    return ids, torch.stack(masks, 1)


def sequence_reward(ids, mask):
    """Ascending sequences that stop by themselves are good: the number of ascents less that of descents."""
    body = ids[:, 1:].masked_fill((mask == 0) | (ids[:, 1:] == STOP), -1)
    both = (body[:, 1:] >= 0) & (body[:, :-1] >= 0)
    step = body[:, 1:] - body[:, :-1]
    rise = ((step > 0) & both).sum(1).float() - ((step <= 0) & both).sum(1).float()
    stopped = (ids == STOP).any(1)
    return torch.where(stopped, rise, rise - 2)


def per_token(model, ids):
    logits, values = model(ids[:, :-1])
    return logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2), values


def discounted_returns(rewards, mask, gamma):
    returns, running = torch.zeros_like(rewards), torch.zeros(len(rewards))
    for t in reversed(range(rewards.shape[1])):
        running = (rewards[:, t] + gamma * running) * mask[:, t]
        returns[:, t] = running
    return returns


def whiten(x, mask):
    mean = (x * mask).sum() / mask.sum()
    var = ((x - mean) ** 2 * mask).sum() / mask.sum()
    return (x - mean) * (var + 1e-6).rsqrt() * mask


def ppo_update(model, optimizer, ids, mask, old_logps, advantages, returns, args):
    for _ in range(args.epochs):
        for rows in torch.randperm(len(ids)).split(32):
            logps, values = per_token(model, ids[rows])
            m = mask[rows]
            ratio = ((logps - old_logps[rows]) * m).exp()
            pg = -torch.min(ratio * advantages[rows], ratio.clamp(1 - args.clip, 1 + args.clip) * advantages[rows])
            vf = (values - returns[rows]) ** 2
            loss = ((pg + 0.5 * vf) * m).sum() / m.sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return loss.item(), (vf * m).sum().item() / m.sum().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--gamma", type=float, default=1.0)
    p.add_argument("--beta", type=float, default=0.02)
    args = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Actor()
    reference = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    curve, early = [], []
    for step in range(args.steps):
        ids, mask = rollout(model, 64)
        score = sequence_reward(ids, mask)
        with torch.no_grad():
            old_logps, values = per_token(model, ids)
            rewards = -args.beta * (old_logps - per_token(reference, ids)[0]) * mask
        last = mask.sum(1).long() - 1
        rewards[torch.arange(len(rewards)), last] += score
        returns = discounted_returns(rewards, mask, args.gamma)
        advantages = whiten(returns - values, mask)
        loss, vf = ppo_update(model, optimizer, ids, mask, old_logps, advantages, returns, args)
        curve.append(score.mean().item())
        long = last >= 2
        early.append(values[long, 0].mean().item() if long.any() else 0.0)
        if step % 10 == 9:
            print(f"step {step + 1} score {curve[-1]:.3f} value loss {vf:.4f} length {mask.sum(1).mean().item():.2f}")
    print(f"EVIDENCE score={sum(curve[-8:]) / 8:.3f} first_value={sum(early[-8:]) / 8:.3f}")


if __name__ == "__main__":
    main()
