"""Asynchronous GRPO: a generator whose weights lag behind writes episodes, a trainer learns from them with clipped ratios."""
import argparse
import collections
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PROMPT, RESPONSE = 10, 3, 4

Episode = collections.namedtuple("Episode", "version tokens behavior_logprobs advantages")


class Policy(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


def response_logprobs(model, tokens):
    logits = model(tokens[:, :-1])[:, PROMPT - 1:]
    return logits.log_softmax(-1).gather(2, tokens[:, PROMPT:, None]).squeeze(-1)


def reward_fn(tokens):
    """The answer counts on from the greatest digit of the prompt."""
    want = (tokens[:, :PROMPT].amax(1, keepdim=True) + 1 + torch.arange(RESPONSE)) % VOCAB
    return (tokens[:, PROMPT:] == want).float().mean(1)


class Generator:
    """Has weights of its own, which are pushed to it now and then."""

    def __init__(self, policy, seed):
        self.model, self.version = copy.deepcopy(policy).requires_grad_(False), 0
        self.gen = torch.Generator().manual_seed(seed)

    def update_weights(self, policy, version):
        self.model.load_state_dict(policy.state_dict())
        self.version = version

    @torch.no_grad()
    def generate(self, prompts, group):
        tokens = torch.randint(0, VOCAB, (prompts, PROMPT), generator=self.gen).repeat_interleave(group, 0)
        for _ in range(RESPONSE):
            probs = self.model(tokens)[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(probs, 1, generator=self.gen)], 1)
        rewards = reward_fn(tokens)
        grouped = rewards.view(prompts, group)
        advantages = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-2)
        return Episode(self.version, tokens, response_logprobs(self.model, tokens), advantages.flatten()), rewards.mean().item()


class SimpleGRPOLoss(nn.Module):
    def __init__(self, clip=0.2, beta=0.01):
        super().__init__()
        self.clip, self.beta = clip, beta

    def forward(self, logprobs, behavior_logprobs, ref_logprobs, advantages):
        kl = (ref_logprobs - logprobs).exp() - (ref_logprobs - logprobs) - 1
        ratio = torch.exp(logprobs - behavior_logprobs)
        advantages = advantages[:, None]
        surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - self.clip, 1 + self.clip) * advantages)
        clipped = ((ratio - 1).abs() > self.clip).float().mean()
        return (self.beta * kl - surrogate).mean(), ratio.detach(), clipped


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--lag", type=int, default=4, help="trainer steps between two pushes of the weights")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False)
    generator, loss_fn = Generator(policy, args.seed), SimpleGRPOLoss()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr, weight_decay=0.0)
    queue, rewards, spreads, clips = collections.deque(), [], [], []
    for step in range(args.steps):
        if not queue:
            for _ in range(args.lag):
                episode, reward = generator.generate(prompts=16, group=8)
                queue.append(episode)
                rewards.append(reward)
        episode = queue.popleft()
        logprobs = response_logprobs(policy, episode.tokens)
        with torch.no_grad():
            ref_logprobs = response_logprobs(reference, episode.tokens)
        loss, ratio, clipped = loss_fn(logprobs, episode.behavior_logprobs, ref_logprobs, episode.advantages)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        spreads.append(ratio.std().item())
        clips.append(clipped.item())
        if (step + 1) % args.lag == 0:
            generator.update_weights(policy, step + 1)
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} reward {rewards[-1]:.3f} clipped {clipped.item():.3f} version {episode.version}")
    print(f"EVIDENCE ratio_std={max(spreads):.4f} clipped={sum(clips) / len(clips):.4f} reward={sum(rewards[-12:]) / 12:.3f}")


if __name__ == "__main__":
    main()
