"""Phones learn a shared encoder; heads and norms stay on the phone, many phones are away most of the time."""
import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
p.add_argument("--lr", type=float, default=0.05)
p.add_argument("--steps", type=int, default=45, help="rounds")
args = p.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
coin = random.Random(args.seed)


def activity(n, style):
    """Three axes of an accelerometer, 64 samples; each owner moves in a way of his own and names activities in his own order."""
    y = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, 64)
    speed = torch.tensor([2.0, 4.0, 7.0, 11.0])[y] * style["tempo"]
    phase = 6.283 * torch.rand(n, 3, 1)
    x = torch.sin(6.283 * speed[:, None, None] * t + phase) * style["axes"][:, None] + 0.5 * torch.randn(n, 3, 64)
    return x + style["tilt"][:, None], style["names"][y]


class Local(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(3, 16, 9, stride=2), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 24, 7, stride=2),
                                     nn.BatchNorm1d(24), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten())
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.encoder(x))

    def shared(self):
        return {k: v for k, v in self.encoder.named_parameters() if k.split(".")[0] in ("0", "3")}


class Phone:
    def __init__(self):
        style = {"tempo": 0.9 + 0.2 * coin.random(), "axes": 0.3 + torch.rand(3), "tilt": torch.randn(3), "names": torch.randperm(4)}
        self.x, self.y = activity(coin.randint(25, 140), style)
        self.test = activity(150, style)
        self.model = Local()
        self.available = coin.choice([0.1, 0.3, 0.6])
        self.rounds = 0

    def work(self, weights):
        """Returns the change of the shared weights, or None when the battery runs out on the way."""
        own = self.model.shared()
        with torch.no_grad():
            for k, w in weights.items():
                own[k].copy_(w)
        self.model.train()
        body = torch.optim.SGD(own.values(), lr=args.lr, momentum=0.9)
        rest = torch.optim.Adam([q for q in self.model.parameters() if all(q is not s for s in own.values())], lr=args.lr / 10)
        # first the head alone gets used to the new encoder
        plan = ["head"] * (6 if self.rounds == 0 else 2) + ["both"] * coin.randint(2, 7)
        for what in plan:
            if coin.random() < 0.01:
                return None
            rows = torch.randperm(len(self.x))[:32]
            loss = F.cross_entropy(self.model(self.x[rows]), self.y[rows])
            self.model.zero_grad()
            loss.backward()
            rest.step()
            if what == "both":
                nn.utils.clip_grad_norm_(list(own.values()), 1.0)
                body.step()
        self.rounds += 1
        return {k: own[k].detach() - weights[k] for k in weights}, len(self.x)


phones = [Phone() for _ in range(16)]
server = {k: v.detach().clone() for k, v in phones[0].model.shared().items()}
speed = {k: torch.zeros_like(v) for k, v in server.items()}
empty = lost = 0
for r in range(args.steps):
    present = [ph for ph in phones if coin.random() < ph.available]
    answers = [a for a in (ph.work(server) for ph in present) if a is not None]
    lost += len(present) - len(answers)
    if len(answers) < 2:
        empty += 1  # too few for secure aggregation: nothing changes
        continue
    total = sum(min(n, 100) for _, n in answers)
    for k in server:
        change = sum(delta[k] * (min(n, 100) / total) for delta, n in answers)
        speed[k] = 0.6 * speed[k] + change
        server[k] += 0.7 * speed[k]
    if r % 10 == 0:
        print(f"round {r} answers {len(answers)} size of the change {sum(s.norm() ** 2 for s in speed.values()) ** 0.5:.3f}")

scores = []
for ph in phones:
    if ph.rounds == 0:
        continue
    with torch.no_grad():
        for k, w in ph.model.shared().items():
            w.copy_(server[k])
        x, y = ph.test
        ph.model.eval()
        scores.append((ph.model(x).argmax(1) == y).float().mean().item())
print(f"EVIDENCE mean accuracy of {len(scores)} phones {sum(scores) / max(len(scores), 1):.3f} rounds without a change {empty} answers lost {lost}")
