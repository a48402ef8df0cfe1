"""Policy-gradient training of an adapter; a separate engine generates and keeps the states of prompts it has seen."""
import argparse

import torch
import torch.nn as nn

WORDS, PROMPT_LEN, ANSWER_LEN, GROUP = 10, 4, 3, 8


class AdaptedPolicy(nn.Module):
    """Recurrent policy with a frozen body and a low-rank adapter on its inputs and on its head."""

    def __init__(self, dim=40, rank=6):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(WORDS, dim), nn.GRUCell(dim, dim), nn.Linear(dim, WORDS)
        self.requires_grad_(False)
        self.dim = dim
        self.lora_in_a, self.lora_in_b = nn.Parameter(torch.randn(dim, rank) / dim ** 0.5), nn.Parameter(torch.zeros(rank, dim))
        self.lora_out_a, self.lora_out_b = nn.Parameter(torch.randn(dim, rank) / dim ** 0.5), nn.Parameter(torch.zeros(rank, WORDS))

    def adapter_state(self):
        return {k: v.detach().clone() for k, v in self.state_dict().items() if "lora" in k}

    def read(self, token, state):
        x = self.embed(token)
        return self.cell(x + 2 * x @ self.lora_in_a @ self.lora_in_b, state)

    def logits(self, state):
        return self.head(state) + 2 * state @ self.lora_out_a @ self.lora_out_b


class InferenceEngine:
    def __init__(self, policy):
        self.policy, self.prefix_cache = policy, {}

    def reset_prefix_cache(self):
        self.prefix_cache.clear()

    def load_full(self, state_dict):
        self.policy.load_state_dict(state_dict)
        self.reset_prefix_cache()

    def load_adapter(self, adapter):
        self.policy.load_state_dict(adapter, strict=False)
        self.reset_prefix_cache()

    def prefill(self, prompt):
        key = tuple(prompt.tolist())
        if key not in self.prefix_cache:
            state = torch.zeros(1, self.policy.dim)
            for token in prompt:
                state = self.policy.read(token[None], state)
            self.prefix_cache[key] = state
        return self.prefix_cache[key]

    @torch.no_grad()
    def generate(self, prompts):
        state = torch.cat([self.prefill(p) for p in prompts])
        tokens, logps = [], []
        for _ in range(ANSWER_LEN):
            dist = torch.distributions.Categorical(logits=self.policy.logits(state))
            token = dist.sample()
            tokens.append(token)
            logps.append(dist.log_prob(token))
            state = self.policy.read(token, state)
        return torch.stack(tokens, 1), torch.stack(logps, 1)


def score(policy, prompts, answers):
    state = torch.zeros(len(prompts), policy.dim)
    for t in range(PROMPT_LEN):
        state = policy.read(prompts[:, t], state)
    logps = []
    for t in range(ANSWER_LEN):
        logps.append(policy.logits(state).log_softmax(-1).gather(1, answers[:, t:t + 1]).squeeze(1))
        state = policy.read(answers[:, t], state)
    return torch.stack(logps, 1)


def reward_of(prompts, answers):
    return (answers == prompts[:, :1]).float().mean(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    trainer_policy = AdaptedPolicy()
    engine = InferenceEngine(AdaptedPolicy())
    engine.load_full(trainer_policy.state_dict())
    optimizer = torch.optim.Adam([p for p in trainer_policy.parameters() if p.requires_grad], lr=args.lr)
    prompt_pool = torch.randint(0, WORDS, (12, PROMPT_LEN))
    rewards, gaps = [], []
    for step in range(args.steps):
        prompts = prompt_pool[torch.randperm(len(prompt_pool))[:8]].repeat_interleave(GROUP, dim=0)
        answers, rollout_logps = engine.generate(prompts)
        reward = reward_of(prompts, answers)
        grouped = reward.view(-1, GROUP)
        advantage = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).flatten()
        logps = score(trainer_policy, prompts, answers)
        loss = -(logps * advantage[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        optimizer.step()
        gaps.append((logps.detach() - rollout_logps).abs().mean().item())
        rewards.append(reward.mean().item())
        engine.load_adapter(trainer_policy.adapter_state())
        if step % 8 == 0:
            print(f"step {step} reward {rewards[-1]:.3f} logp_gap {gaps[-1]:.5f}")
    tail = max(1, args.steps // 5)
    print(f"EVIDENCE logp_gap={sum(gaps[-tail:]) / tail:.6f} reward={sum(rewards[-tail:]) / tail:.4f}")


if __name__ == "__main__":
    main()
