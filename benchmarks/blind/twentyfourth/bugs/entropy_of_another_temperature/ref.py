"""Policy-gradient fine-tuning of a token policy that samples at a temperature, with an entropy bonus."""
import argparse

import torch
import torch.nn as nn

VOCAB, PROMPTS, LENGTH, SAMPLES = 12, 10, 4, 12


def compute_entropy(logits):
    logps = logits.log_softmax(-1)
    return -(logps.exp() * logps).sum(-1)


class Actor(nn.Module):
    def __init__(self, temperature, dim=32):
        super().__init__()
        self.temperature = temperature
        self.prompt, self.token = nn.Embedding(PROMPTS, dim), nn.Embedding(VOCAB + 1, dim)
        self.rnn, self.head = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)
        nn.init.normal_(self.head.weight, std=0.6)

    def raw_logits(self, prompts, tokens):
        """Logits of each next token; the first input is a start token."""
        start = torch.full((len(tokens), 1), VOCAB)
        hidden, _ = self.rnn(self.token(torch.cat([start, tokens], 1)), self.prompt(prompts)[None])
        return self.head(hidden)

    def forward(self, prompts, tokens, return_entropy=False):
        logits = self.raw_logits(prompts, tokens)[:, :-1].float()
        logits = logits / self.temperature
        output = {"logps": logits.log_softmax(-1).gather(2, tokens[:, :, None]).squeeze(2)}
        if return_entropy:
            output["entropy"] = compute_entropy(logits)
        return output

    @torch.no_grad()
    def generate(self, prompts):
        tokens = torch.zeros(len(prompts), 0, dtype=torch.long)
        entropies = []
        for _ in range(LENGTH):
            dist = torch.distributions.Categorical(logits=self.raw_logits(prompts, tokens)[:, -1] / self.temperature)
            entropies.append(dist.entropy())
            tokens = torch.cat([tokens, dist.sample()[:, None]], 1)
        return tokens, torch.stack(entropies, 1)


def reward_of(prompts, tokens):
    """Wanted are tokens of the prompt's own residue class."""
    return (tokens % 3 == prompts[:, None] % 3).float().mean(1)


def train(args):
    actor = Actor(args.temperature)
    optimizer = torch.optim.Adam(actor.parameters(), lr=args.lr)
    history = []
    for step in range(args.steps):
        prompts = torch.randint(0, PROMPTS, (6,)).repeat_interleave(SAMPLES)
        tokens, sampler_entropy = actor.generate(prompts)
        reward = reward_of(prompts, tokens)
        groups = reward.view(-1, SAMPLES)
        advantage = (groups - groups.mean(1, keepdim=True)).flatten()
        output = actor(prompts, tokens, return_entropy=True)
        policy_loss = -(output["logps"] * advantage[:, None]).mean()
        entropy = output["entropy"].mean()
        loss = policy_loss - args.entropy_coef * entropy
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        optimizer.step()
        history.append((reward.mean().item(), entropy.item(), sampler_entropy.mean().item()))
        if step % 10 == 0:
            print("step {} reward {:.3f} entropy {:.3f}".format(step, *history[-1][:2]))
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--entropy-coef", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    history = train(args)
    tail = history[-max(1, args.steps // 6):]
    reward, used, sampled = [sum(column) / len(tail) for column in zip(*tail)]
    print(f"EVIDENCE entropy_in_loss={used:.4f} entropy_of_sampler={sampled:.4f} gap={used - sampled:.4f} reward={reward:.4f}")
