"""Wear of machines from a stream of load readings; a new part starts whenever one is replaced."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=160, help="chunks of the stream")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

MACHINES, CHUNK = 48, 16


class Plant:
    """Gives chunks of readings; wear grows with high loads until the part is replaced."""

    def __init__(self, machines):
        self.load = torch.zeros(machines)
        self.wear = torch.zeros(machines)

    def step(self):
        replaced = torch.rand_like(self.wear) < 0.06
        self.wear = torch.where(replaced, torch.zeros_like(self.wear), self.wear)
        self.load = 0.7 * self.load + torch.randn_like(self.load)
        self.wear = self.wear + 0.1 * torch.relu(self.load)
        reading = torch.stack([self.load, self.load.roll(1).abs()], 1) + 0.05 * torch.randn(len(self.load), 2)
        return reading, self.wear.clone(), replaced

    def chunk(self):
        rows = [self.step() for _ in range(CHUNK)]
        readings, wear, replaced = zip(*rows)
        return torch.stack(readings), torch.stack(wear), torch.stack(replaced)


class WearNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)

    def start(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    def forward(self, readings, replaced, state):
        h, c = state
        outputs = []
        for x, new in zip(readings, replaced):
            keep = (~new).float().unsqueeze(1)
            h, c = self.cell(x, (h * keep, c * keep))
            outputs.append(self.out(h).squeeze(1))
        return torch.stack(outputs), (h, c)


plant = Plant(MACHINES)
model = WearNet()
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps, eta_min=args.lr / 20)
state = model.start(MACHINES)
recent = []
for step in range(args.steps):
    readings, wear, replaced = plant.chunk()
    state = tuple(s.detach() for s in state)
    predicted, state = model(readings, replaced, state)
    loss = nn.functional.smooth_l1_loss(predicted, wear)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    recent.append(loss.item())
    if step % 40 == 39:
        print(f"chunk {step + 1} loss {sum(recent[-40:]) / 40:.4f}")

model.eval()
errors, spread = [], []
with torch.no_grad():
    for _ in range(10):
        readings, wear, replaced = plant.chunk()
        predicted, state = model(readings, replaced, state)
        errors.append((predicted - wear).abs().mean())
        spread.append((wear - wear.mean()).abs().mean())
mae, base = torch.stack(errors).mean().item(), torch.stack(spread).mean().item()
print(f"EVIDENCE mean absolute error {mae:.4f}, of the mean guess {base:.4f}")
