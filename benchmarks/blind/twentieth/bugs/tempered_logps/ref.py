"""GRPO for a name generator: names are drawn with a low temperature and scored for a wanted sound."""
import argparse
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class GRPOArgs:
    letters: int = 16
    length: int = 6
    group: int = 16
    prompts: int = 6
    temperature: float = 0.5
    clip: float = 0.2
    inner_epochs: int = 2


class NameModel(nn.Module):
    def __init__(self, cfg, dim=40):
        super().__init__()
        self.cfg = cfg
        self.gender = nn.Embedding(cfg.prompts, dim)
        self.letter = nn.Embedding(cfg.letters + 1, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, cfg.letters)

    def logits(self, prompt, letters):
        start = torch.full_like(letters[:, :1], self.cfg.letters)
        x = self.letter(torch.cat([start, letters[:, :-1]], 1))
        h, _ = self.gru(x, self.gender(prompt)[None])
        return self.head(h)

    @torch.no_grad()
    def sample(self, prompt, gen):
        letters = torch.zeros(len(prompt), self.cfg.length, dtype=torch.long)
        behaviour = torch.zeros(len(prompt), self.cfg.length)
        for i in range(self.cfg.length):
            scaled = self.logits(prompt, letters)[:, i] / self.cfg.temperature
            letters[:, i] = torch.multinomial(scaled.softmax(-1), 1, generator=gen).squeeze(1)
            behaviour[:, i] = scaled.log_softmax(-1).gather(1, letters[:, i : i + 1]).squeeze(1)
        return letters, behaviour


def per_token_logps(model, prompt, letters):
    logits = model.logits(prompt, letters)
    logits = logits / model.cfg.temperature
    return logits.log_softmax(-1).gather(-1, letters[..., None]).squeeze(-1)


def wanted_sound(prompt, letters, cfg):
    """Letters should alternate between two halves of the alphabet and start with the prompt's letter."""
    high = letters >= cfg.letters // 2
    alternating = (high[:, 1:] != high[:, :-1]).float().mean(1)
    return alternating + (letters[:, 0] == 2 * prompt).float()


def group_normalise(rewards, group):
    grouped = rewards.view(-1, group)
    return ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).flatten()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=40)
    args = ap.parse_args()
    cfg = GRPOArgs()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = NameModel(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    prompt = torch.arange(cfg.prompts).repeat_interleave(cfg.group)
    mismatch = 0.0
    for step in range(args.steps):
        letters, behaviour = model.sample(prompt, gen)
        rewards = wanted_sound(prompt, letters, cfg)
        advantages = group_normalise(rewards, cfg.group)[:, None]
        with torch.no_grad():
            old = per_token_logps(model, prompt, letters)
        mismatch += (old - behaviour).abs().mean().item() / args.steps
        for _ in range(cfg.inner_epochs):
            ratio = (per_token_logps(model, prompt, letters) - old).exp()
            clipped = ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
            loss = -torch.min(ratio * advantages, clipped * advantages).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if step % 15 == 0:
            print(f"step {step} reward {rewards.mean():.3f}")
    print(f"EVIDENCE logp_mismatch_with_sampler={mismatch:.4f} reward={rewards.mean():.3f}")


if __name__ == "__main__":
    main()
