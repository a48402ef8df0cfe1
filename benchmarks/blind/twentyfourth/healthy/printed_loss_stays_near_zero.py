"""One update per batch of completions: the ratio is always one and advantages of a group sum to zero, so the printed loss says nothing."""
import argparse

import torch
import torch.nn as nn

PROMPTS, VOCAB, LENGTH, GROUP = 8, 10, 3, 8


class TokenPolicy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.prompt, self.token = nn.Embedding(PROMPTS, dim), nn.Embedding(VOCAB + 1, dim)
        self.rnn, self.head = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)

    def forward(self, prompts, ids):
        start = torch.full((len(ids), 1), VOCAB)
        return self.head(self.rnn(self.token(torch.cat([start, ids], 1)), self.prompt(prompts)[None])[0])

    def logps(self, prompts, ids):
        return self(prompts, ids)[:, :-1].log_softmax(-1).gather(2, ids[:, :, None]).squeeze(2)


@torch.no_grad()
def complete(policy, prompts):
    ids = torch.zeros(len(prompts), 0, dtype=torch.long)
    for _ in range(LENGTH):
        ids = torch.cat([ids, torch.multinomial(policy(prompts, ids)[:, -1].softmax(-1), 1)], 1)
    return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = TokenPolicy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    for step in range(args.steps):
        prompts = torch.arange(PROMPTS).repeat_interleave(GROUP)
        ids = complete(policy, prompts)
        reward = (ids == (prompts[:, None] + torch.arange(LENGTH)) % VOCAB).float().mean(1)
        groups = reward.view(-1, GROUP)
        advantages = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).flatten()
        logps = policy.logps(prompts, ids)
        # with a single update the old policy is the present one; the gradient still is that of logps
        ratio = torch.exp(logps - logps.detach())
        loss = -(ratio * advantages[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if step % 8 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():+.6f} grad_norm {norm.item():.3f} reward {reward.mean().item():.3f}")


if __name__ == "__main__":
    main()
