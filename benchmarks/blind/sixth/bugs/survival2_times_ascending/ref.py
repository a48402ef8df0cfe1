"""Survival analysis: a network learns the log hazard of patients from times that may be censored, by Cox's likelihood."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()


def cox_loss(hazard, time, event):
    """Negative partial likelihood; at a time at risk are all who are still there."""
    order = torch.argsort(time, descending=True)
    hazard, event = hazard[order], event[order]
    at_risk = torch.logcumsumexp(hazard, dim=0)
    return -((hazard - at_risk) * event).sum() / event.sum().clamp(min=1)


def patients(count, truth):
    x = torch.randn(count, truth.numel())
    time = torch.empty(count).exponential_() * torch.exp(-(x @ truth))
    censored = torch.empty(count).exponential_(0.5)
    return x, torch.minimum(time, censored), (time <= censored).float()


@torch.no_grad()
def concordance(model, x, time, event):
    model.eval()
    hazard = model(x).squeeze(1)
    model.train()
    comparable = (time[:, None] < time[None]) & (event[:, None] > 0)
    right = (hazard[:, None] > hazard[None]) & comparable
    return (right.sum() / comparable.sum()).item()


def fit(model, loader, valid):
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    history, step = [], 0
    while step < args.steps:
        for x, time, event in loader:
            loss = cox_loss(model(x).squeeze(1), time, event)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        history.append(concordance(model, *valid))
        print(f"step {step}: loss {loss.item():.4f}, concordance {history[-1]:.3f}")
    return history


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth = torch.randn(8)
train, valid = patients(640, truth), patients(256, truth)
loader = DataLoader(TensorDataset(*train), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
history = fit(model, loader, valid)
print(f"EVIDENCE concordance on held-out patients is {history[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
