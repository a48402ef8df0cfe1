"""Self-critical training: the reward of the greedy answer, taken in evaluation mode, is the baseline of the drawn one."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 12, 6


class Captioner(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.see, self.embed = nn.Linear(VOCAB, dim), nn.Embedding(VOCAB + 1, dim)
        self.cell, self.drop, self.out = nn.GRUCell(dim, dim), nn.Dropout(0.1), nn.Linear(dim, VOCAB)

    def say(self, scene, gen=None):
        h, token = torch.tanh(self.see(scene)), torch.full((len(scene),), VOCAB)
        words, logps = [], []
        for _ in range(LENGTH):
            h = self.cell(self.embed(token), h)
            logp = self.out(self.drop(h)).log_softmax(-1)
            token = logp.argmax(-1) if gen is None else torch.multinomial(logp.exp().detach(), 1, generator=gen).squeeze(1)
            words.append(token)
            logps.append(logp.gather(1, token[:, None]).squeeze(1))
        return torch.stack(words, 1), torch.stack(logps, 1)


def scenes(n, gen):
    return (torch.rand(n, VOCAB, generator=gen) < 0.35).float()


def reward(scene, words):
    named = F.one_hot(words, VOCAB).amax(1).float()
    return (named * scene).sum(1) - 0.5 * (named * (1 - scene)).sum(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = Captioner()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        scene = scenes(64, gen)
        model.eval()
        with torch.no_grad():
            greedy, _ = model.say(scene)
        model.train()
        words, logps = model.say(scene, gen)
        advantage = reward(scene, words) - reward(scene, greedy)
        loss = -(advantage[:, None] * logps).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.25)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} greedy {reward(scene, greedy).mean():.3f} drawn {reward(scene, words).mean():.3f}")
    print(f"RESULT greedy={reward(scene, greedy).mean():.3f}")


if __name__ == "__main__":
    main()
