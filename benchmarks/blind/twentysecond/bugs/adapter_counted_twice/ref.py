"""Reinforcement learning with an adapter: a trainer holds a base model and LoRA, a separate engine writes the answers."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

STATES, ACTIONS, WIDTH, RANK = 12, 6, 32, 4


class LoraLinear(nn.Module):
    def __init__(self, base, scale=2.0):
        super().__init__()
        self.base_layer, self.scale = base, scale
        self.lora_A = nn.Parameter(torch.randn(RANK, base.in_features) / base.in_features ** 0.5)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, RANK))

    def forward(self, x):
        return self.base_layer(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scale

    def delta(self):
        return self.scale * self.lora_B @ self.lora_A


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(STATES, WIDTH)
        self.fc1, self.fc2, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, ACTIONS)

    def forward(self, states):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(self.embed(states))))))


class Engine:
    """Stands for a server of its own: it keeps base weights and an adapter apart, and draws at a temperature."""

    def __init__(self, policy, temperature):
        self.model, self.temperature, self.deltas = copy.deepcopy(policy).eval(), temperature, {}

    def load_base(self, named):
        weights = dict(self.model.named_parameters())
        for name, value in named:
            weights[name].data.copy_(value)

    def load_adapter(self, named):
        self.deltas = {name: value.clone() for name, value in named}

    @torch.no_grad()
    def logits(self, states):
        weights = {name: value + self.deltas.get(name, 0) for name, value in self.model.named_parameters()}
        return torch.func.functional_call(self.model, weights, (states,))

    @torch.no_grad()
    def generate(self, states):
        logits = self.logits(states) / self.temperature
        actions = torch.distributions.Categorical(logits=logits).sample()
        return actions, logits.log_softmax(-1).gather(1, actions[:, None]).squeeze(1)


def base_weights(policy, merged=False):
    for name, module in policy.named_modules():
        if isinstance(module, LoraLinear):
            weight = module.base_layer.weight.data
            yield f"{name}.weight", weight + module.delta().data if merged else weight


def adapter_weights(policy):
    for name, module in policy.named_modules():
        if isinstance(module, LoraLinear):
            yield f"{name}.weight", module.delta().data


def sync_weights(policy, engine, first):
    """The base is sent once, the adapter each time."""
    if first:
        engine.load_base(base_weights(policy))
    engine.load_adapter(adapter_weights(policy))


def warm_start(policy, optimizer):
    """What the checkpoint of an earlier run would hold: an adapter that knows the first few states."""
    states = torch.arange(STATES // 3)
    for _ in range(8):
        loss = F.cross_entropy(policy(states), wanted(states))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def wanted(states):
    return (states * 5 + 1) % ACTIONS


def logps_of(policy, states, actions, temperature):
    logps = (policy(states) / temperature).log_softmax(-1)
    return logps.gather(1, actions[:, None]).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--temperature", type=float, default=0.7)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    policy = Policy()
    engine = Engine(policy, args.temperature)
    policy.requires_grad_(False)
    for name in ("fc1", "fc2", "out"):
        setattr(policy, name, LoraLinear(getattr(policy, name)))
    optimizer = torch.optim.Adam([p for p in policy.parameters() if p.requires_grad], lr=args.lr)
    warm_start(policy, optimizer)
    weight_of_samples, gap, score = 0.0, 0.0, []
    for step in range(args.steps):
        sync_weights(policy, engine, first=step == 0)
        states = torch.arange(STATES).repeat(8)
        actions, sampler_logps = engine.generate(states)
        rewards = (actions == wanted(states)).float()
        advantages = rewards - rewards.view(8, STATES).mean(0).repeat(8)
        for epoch in range(2):
            logps = logps_of(policy, states, actions, args.temperature)
            if epoch == 0:
                gap += (logps - sampler_logps).abs().mean().item() / args.steps
            ratio = (logps - sampler_logps).exp().clamp(max=3.0)
            weight_of_samples += ratio.mean().item() / (2 * args.steps)
            entropy = torch.distributions.Categorical(logits=policy(states)).entropy().mean()
            loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean() - 0.03 * entropy
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score.append(rewards.mean().item())
        if step % 40 == 39:
            print(f"step {step + 1} reward {score[-1]:.3f} ratio {ratio.mean().item():.3f}")
    states = torch.arange(STATES)
    served = (engine.logits(states).argmax(1) == wanted(states)).float().mean().item()
    trained = (policy(states).argmax(1) == wanted(states)).float().mean().item()
    print(f"EVIDENCE gap={gap:.4f} ratio={weight_of_samples:.4f} last_rewards={sum(score[-10:]) / 10:.3f} "
          f"served={served:.3f} trained={trained:.3f}")


if __name__ == "__main__":
    main()
