"""PPO with a limit on divergence: the number of epochs over the same rows differs from step to step, advantages are not centred."""
import argparse

import torch
import torch.nn as nn


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--limit", type=float, default=0.003)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    best = torch.randn(6, 5, generator=torch.Generator().manual_seed(8)).argmax(1)
    policy, baseline = nn.Linear(6, 5), nn.Linear(6, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *baseline.parameters()], lr=args.lr)
    epochs = []
    for step in range(args.steps):
        kind = torch.randint(0, 6, (128,))
        x = nn.functional.one_hot(kind, 6).float()
        with torch.no_grad():
            old = torch.distributions.Categorical(logits=policy(x))
            action = old.sample()
            reward = (action == best[kind]).float()
            old_logp, advantage = old.log_prob(action), reward - baseline(x).squeeze(1)
        for epoch in range(20):
            now = torch.distributions.Categorical(logits=policy(x))
            ratio = (now.log_prob(action) - old_logp).exp()
            with torch.no_grad():
                divergence = (ratio - 1 - ratio.log()).mean().item()
            if divergence > args.limit:
                break
            gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = -gain + 0.5 * (baseline(x).squeeze(1) - reward).pow(2).mean() - 0.01 * now.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        epochs.append(epoch)
        if step % 10 == 9:
            print(f"step {step + 1} reward {reward.mean().item():.3f} epochs {epoch}")
    print(f"RESULT reward={reward.mean().item():.3f} epochs={sum(epochs) / len(epochs):.2f}")


if __name__ == "__main__":
    main()
