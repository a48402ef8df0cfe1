"""One-step-off training: while the trainer works on a batch the generator already fills the next one with the weights before it."""
import argparse
import copy

import torch
import torch.nn as nn

CONTEXTS, ACTIONS = 12, 8


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(CONTEXTS, 32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, ACTIONS))

    def dist(self, contexts):
        return torch.distributions.Categorical(logits=self.net(contexts))


class Generator:
    def __init__(self, policy):
        self.policy, self.version = copy.deepcopy(policy), 0

    def receive(self, state_dict, version):
        self.policy.load_state_dict(state_dict)
        self.version = version

    @torch.no_grad()
    def produce(self, size):
        contexts = torch.randint(0, CONTEXTS, (size,))
        dist = self.policy.dist(contexts)
        actions = dist.sample()
        noise = 0.1 * torch.randn(size)
        reward = 1.0 - ((actions - contexts) % ACTIONS).float() / ACTIONS + noise
        return {"contexts": contexts, "actions": actions, "behaviour": dist.log_prob(actions), "reward": reward, "version": self.version}


def train_on(policy, baseline, optimizer, batch, args):
    contexts, actions = batch["contexts"], batch["actions"]
    advantage = batch["reward"] - baseline[contexts]
    for context, reward in zip(contexts.tolist(), batch["reward"].tolist()):
        baseline[context] += 0.1 * (reward - baseline[context])
    dist = policy.dist(contexts)
    # truncated weight of the behaviour policy: the batch is one version old
    weight = (dist.log_prob(actions).detach() - batch["behaviour"]).exp().clamp(max=args.truncate)
    loss = -(weight * dist.log_prob(actions) * advantage).mean() - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return weight.mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--truncate", type=float, default=2.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    policy = Policy()
    baseline, optimizer, generator = torch.full((CONTEXTS,), 0.5), torch.optim.Adam(policy.parameters(), lr=args.lr), Generator(policy)
    pending = generator.produce(128)
    for step in range(args.steps):
        batch = pending
        # the next batch starts before this update, so it has the weights of the last one
        generator.receive(policy.state_dict(), version=step)
        pending = generator.produce(128)
        weight = train_on(policy, baseline, optimizer, batch, args)
        if step % 8 == 0 or step == args.steps - 1:
            print(f"step {step} lag {step - batch['version']} weight {weight:.3f} reward {batch['reward'].mean().item():.3f}")


if __name__ == "__main__":
    main()
