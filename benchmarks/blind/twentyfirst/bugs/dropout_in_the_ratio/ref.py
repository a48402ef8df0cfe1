"""PPO on replies of unequal length: the critic has its own head, sampler and learner are the same network."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LONGEST, STOP = 16, 10, 0


class ReplyModel(nn.Module):
    def __init__(self, dim=48, dropout=0.15):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.policy_head, self.value_head = nn.Linear(dim, VOCAB), nn.Linear(dim, 1)

    def forward(self, topic, reply):
        start = (topic % VOCAB)[:, None]
        hidden, _ = self.rnn(self.embed(torch.cat([start, reply[:, :-1]], 1)))
        hidden = self.drop(hidden)
        return self.policy_head(hidden), self.value_head(hidden).squeeze(-1)

    def logps_and_values(self, topic, reply):
        logits, values = self(topic, reply)
        return logits.log_softmax(-1).gather(-1, reply[..., None]).squeeze(-1), values


def disable_dropout(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def imitate(model, gen, steps):
    """A little supervised training first, with dropout."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        topic = torch.randint(1, VOCAB, (48,), generator=gen)
        reply = (topic[:, None] + torch.arange(LONGEST)) % VOCAB
        reply[:, 6:] = STOP
        logits, _ = model(topic, reply)
        loss = F.cross_entropy(logits.flatten(0, 1), reply.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def generate(model, topic, gen):
    model.eval()
    reply, mask = torch.full((len(topic), LONGEST), STOP), torch.zeros(len(topic), LONGEST)
    over = torch.zeros(len(topic), dtype=torch.bool)
    for t in range(LONGEST):
        probs = (model(topic, reply)[0][:, t] / 1.0).softmax(-1)
        token = torch.multinomial(probs, 1, generator=gen).squeeze(1)
        mask[:, t] = (~over).float()
        reply[:, t] = torch.where(over, torch.tensor(STOP), token)
        over |= token == STOP
    logps, values = model.logps_and_values(topic, reply)
    model.train()
    return reply, mask, logps, values


def score(topic, reply, mask):
    rising = (reply[:, 1:] > reply[:, :-1]) & (mask[:, 1:] == 1)
    return rising.sum(1).float() - 0.3 * mask.sum(1)


def token_advantages(reward, values, mask, gamma=1.0, lam=0.95):
    """The reward comes with the last token; masked places have no value and carry nothing over."""
    last = mask.sum(1).long() - 1
    rewards = torch.zeros_like(values).scatter(1, last[:, None], reward[:, None])
    values = values * mask
    advantages, running, next_value = torch.zeros_like(values), torch.zeros(len(values)), torch.zeros(len(values))
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        running = (delta + gamma * lam * running) * mask[:, t]
        advantages[:, t] = running
        next_value = values[:, t]
    return advantages, advantages + values


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=28)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = ReplyModel()
    imitate(model, gen, 40)
    disable_dropout(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    first_gap, tail = 0.0, 0.0
    for step in range(args.steps):
        topic = torch.randint(1, VOCAB, (64,), generator=gen)
        reply, mask, old_logps, values = generate(model, topic, gen)
        reward = score(topic, reply, mask)
        advantages, returns = token_advantages(reward, values, mask)
        end = mask.sum(1).long() - 1
        tail += (returns.gather(1, end[:, None]).squeeze(1) - reward).abs().mean().item() / args.steps
        normal = (advantages - advantages[mask == 1].mean()) / (advantages[mask == 1].std() + 1e-6)
        for epoch in range(2):
            logps, new_values = model.logps_and_values(topic, reply)
            if epoch == 0:
                first_gap += ((logps - old_logps).abs() * mask).sum().item() / mask.sum().item() / args.steps
            ratio = (logps - old_logps).exp()
            gain = torch.min(ratio * normal, ratio.clamp(0.8, 1.2) * normal)
            loss = ((0.5 * (new_values - returns).pow(2) - gain) * mask).sum() / mask.sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if step % 10 == 0:
            print(f"step {step} reward {reward.mean():.3f} length {mask.sum(1).mean():.2f}")
    print(f"EVIDENCE logp_gap_before_first_update={first_gap:.5f} return_past_reward={tail:.4f} reward={reward.mean():.3f}")


if __name__ == "__main__":
    main()
