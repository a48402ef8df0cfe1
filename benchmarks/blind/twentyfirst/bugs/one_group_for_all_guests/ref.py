"""GRPO for short menus: several menus are drawn for each guest, of unequal length, a frozen copy holds the policy back."""
import argparse
import copy

import torch
import torch.nn as nn

DISHES, GUESTS, LONGEST = 14, 8, 8
END = 0


class MenuModel(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.guest = nn.Embedding(GUESTS, dim)
        self.dish = nn.Embedding(DISHES + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, DISHES)

    def forward(self, guest, menu):
        shifted = torch.cat([torch.full_like(menu[:, :1], DISHES), menu[:, :-1]], 1)
        return self.head(self.rnn(self.dish(shifted), self.guest(guest)[None])[0])

    def logps(self, guest, menu):
        return self(guest, menu).log_softmax(-1).gather(-1, menu[..., None]).squeeze(-1)

    @torch.no_grad()
    def draw(self, guest, gen):
        menu = torch.full((len(guest), LONGEST), END)
        over = torch.zeros(len(guest), dtype=torch.bool)
        mask = torch.zeros(len(guest), LONGEST)
        for t in range(LONGEST):
            probs = self(guest, menu)[:, t].softmax(-1)
            drawn = torch.multinomial(probs, 1, generator=gen).squeeze(1)
            menu[:, t] = torch.where(over, torch.tensor(END), drawn)
            mask[:, t] = (~over).float()
            over |= drawn == END
        return menu, mask


def taste(guest, menu, mask):
    """Guests like dishes of their parity, no repetitions; some guests are harder to please than others."""
    real = (mask == 1) & (menu != END)
    liked = ((menu % 2) == (guest % 2)[:, None]) & real
    repeated = (menu[:, 1:] == menu[:, :-1]) & real[:, 1:]
    filling = liked.sum(1).clamp(max=3) * 0.8 - 0.25 * mask.sum(1)
    return filling - repeated.sum(1) * 0.5 - 2.4 * (guest > 4).float()


def group_advantages(rewards, group):
    grouped = rewards.view(-1, group)
    mean, std = grouped.mean(1, keepdim=True), grouped.std(1, keepdim=True)
    return ((grouped - mean) / (std + 1e-4)).flatten()


def masked_mean(x, mask):
    return (x * mask).sum() / mask.sum()


def kl_to_reference(logps, ref_logps):
    """The k3 estimate."""
    log_ratio = ref_logps - logps
    return log_ratio.exp() - log_ratio - 1


def grpo_loss(logps, old_logps, ref_logps, advantages, mask, clip=0.2, beta=0.1):
    ratio = (logps - old_logps).exp()
    surrogate = torch.min(ratio * advantages[:, None], ratio.clamp(1 - clip, 1 + clip) * advantages[:, None])
    kl = kl_to_reference(logps, ref_logps)
    policy_loss = masked_mean(-surrogate, mask)
    return policy_loss + beta * masked_mean(kl, mask), kl


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--group", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    policy = MenuModel()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    offset = kl_mean = 0.0
    for step in range(args.steps):
        guest = torch.arange(GUESTS).repeat_interleave(args.group)
        menu, mask = policy.draw(guest, gen)
        rewards = taste(guest, menu, mask)
        advantages = group_advantages(rewards, args.group)
        offset += advantages.view(-1, args.group).mean(1).abs().mean().item() / args.steps
        with torch.no_grad():
            old_logps, ref_logps = policy.logps(guest, menu), reference.logps(guest, menu)
        for _ in range(2):
            loss, kl = grpo_loss(policy.logps(guest, menu), old_logps, ref_logps, advantages, mask)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        kl_mean += masked_mean(kl.detach(), mask).item() / args.steps
        if step % 10 == 0:
            print(f"step {step} reward {rewards.mean():.3f} kl {kl.mean().item():.4f} length {mask.sum(1).mean():.2f}")
    exact = (old_logps - ref_logps).mul(mask).sum() / mask.sum()
    print(f"EVIDENCE offset_of_groups={offset:.4f} kl_used={kl_mean:.4f} log_ratio={exact:.4f} reward={rewards.mean():.3f}")


if __name__ == "__main__":
    main()
