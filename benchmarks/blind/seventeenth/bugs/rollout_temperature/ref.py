"""PPO fine-tuning of a token policy: answer a short prompt with its reversal."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 8
LEN = 4


@dataclass
class Batch:
    prompts: torch.Tensor
    actions: torch.Tensor
    old_logps: torch.Tensor
    returns: torch.Tensor
    advantages: torch.Tensor


class ActorCritic(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.prompt_emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(LEN, dim) * 0.1)
        self.encoder = nn.Sequential(nn.Linear(LEN * dim, 128), nn.Tanh())
        self.slot = nn.Embedding(LEN, 128)
        self.mix = nn.Sequential(nn.Linear(128, 128), nn.Tanh())
        self.policy = nn.Linear(128, VOCAB)
        self.value = nn.Linear(128, 1)

    def forward(self, prompts):
        e = (self.prompt_emb(prompts) + self.pos).flatten(1)
        h = self.encoder(e)[:, None, :] + self.slot.weight[None]
        h = self.mix(h)
        return self.policy(h), self.value(h).squeeze(-1)


def gather_logps(logits, actions):
    return F.log_softmax(logits, dim=-1).gather(-1, actions[..., None]).squeeze(-1)


class PPO:
    def __init__(self, model, args):
        self.model = model
        self.args = args
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    @torch.no_grad()
    def collect(self, gen):
        a = self.args
        prompts = torch.randint(0, VOCAB, (a.rollouts, LEN), generator=gen)
        logits, values = self.model(prompts)
        logits = logits / a.temperature
        probs = logits.softmax(-1)
        actions = torch.multinomial(probs.view(-1, VOCAB), 1).view(a.rollouts, LEN)
        rewards = (actions == prompts.flip(1)).float()
        returns = rewards.flip(1).cumsum(1).flip(1)
        adv = returns - values
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        return Batch(prompts, actions, gather_logps(logits, actions), returns, adv), rewards.mean().item()

    def update(self, batch):
        a = self.args
        stats = []
        for _ in range(a.epochs):
            for idx in torch.randperm(a.rollouts).split(a.minibatch):
                logits, values = self.model(batch.prompts[idx])
                logits = logits / a.temperature
                logps = gather_logps(logits, batch.actions[idx])
                ratio = (logps - batch.old_logps[idx]).exp()
                adv = batch.advantages[idx]
                pg = -torch.min(ratio * adv, ratio.clamp(1 - a.clip, 1 + a.clip) * adv).mean()
                vf = F.mse_loss(values, batch.returns[idx])
                loss = pg + a.vf_coef * vf
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
                self.optimizer.step()
                stats.append(((ratio - 1).abs() > a.clip).float().mean().item())
        return loss.item(), sum(stats) / len(stats)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--rollouts", type=int, default=256)
    p.add_argument("--minibatch", type=int, default=64)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--temperature", type=float, default=1.6)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 100)
    agent = PPO(ActorCritic(), args)
    for it in range(args.steps):
        batch, mean_reward = agent.collect(gen)
        loss, clip_frac = agent.update(batch)
        if it % 10 == 0:
            print(f"iter {it} loss {loss:.4f} reward {mean_reward:.3f} clipfrac {clip_frac:.3f}")
    batch, mean_reward = agent.collect(gen)
    with torch.no_grad():
        logits, _ = agent.model(batch.prompts)
        greedy = (logits.argmax(-1) == batch.prompts.flip(1)).float().mean().item()
    print(f"EVIDENCE sampled_reward={mean_reward:.4f} greedy_acc={greedy:.4f} clip_frac={clip_frac:.4f}")


if __name__ == "__main__":
    main()
