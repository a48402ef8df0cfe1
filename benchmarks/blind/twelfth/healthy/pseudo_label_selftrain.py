"""Self-training on digits with 100 labels: rounds of pseudo-labels above a threshold per class, so that their number varies."""
import argparse
from collections import Counter

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--seed", type=int, default=0)
p.add_argument("--lr", type=float, default=6e-3)
p.add_argument("--steps", type=int, default=4, help="rounds of self-training")
p.add_argument("--threshold", type=float, default=0.97)
args = p.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
perm = torch.randperm(len(X))
X, y = torch.tensor(X, dtype=torch.float32)[perm] / 16, torch.tensor(y)[perm]
labelled = torch.cat([torch.nonzero(y[:1300] == c).flatten()[:10] for c in range(10)])
is_labelled = torch.zeros(1300, dtype=torch.bool)
is_labelled[labelled] = True
X_lab, y_lab = X[:1300][is_labelled], y[:1300][is_labelled]
X_unl, y_hidden = X[:1300][~is_labelled], y[:1300][~is_labelled]    # y_hidden only for printing
X_test, y_test = X[1300:], y[1300:]


def new_model():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3),
                         nn.Linear(96, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))


def fit(model, dataset, updates):
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=updates, pct_start=0.2)
    loader = DataLoader(dataset, batch_size=50, shuffle=True)
    model.train()
    done = 0
    while done < updates:
        for xb, yb, wb in loader:
            xb = xb + 0.1 * torch.randn_like(xb)
            loss = (wb * nn.functional.cross_entropy(model(xb), yb, reduction="none")).sum() / wb.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            done += 1
            if done == updates:
                break
    return loss.item()


@torch.no_grad()
def probabilities(model, x):
    model.eval()
    return model(x).softmax(1)


base = TensorDataset(X_lab, y_lab, torch.ones(len(y_lab)))
student = new_model()
loss = fit(student, base, updates=220)
print(f"labels only: loss {loss:.4f}, test accuracy {(probabilities(student, X_test).argmax(1) == y_test).float().mean():.4f}")

for r in range(1, args.steps + 1):
    conf, guess = probabilities(student, X_unl).max(1)
    take = conf > args.threshold
    # no class may have more than 100 guesses, the surest are kept
    for c in guess[take].unique():
        members = torch.nonzero(take & (guess == c)).flatten()
        if len(members) > 100:
            take[members[conf[members].argsort(descending=True)[100:]]] = False
    if not take.any():
        print(f"round {r}: nothing above {args.threshold}")
        break
    pseudo = TensorDataset(X_unl[take], guess[take], 0.3 * torch.ones(int(take.sum())))
    loss = fit(student, ConcatDataset([base, pseudo]), updates=100)     # goes on from the last round
    acc = (probabilities(student, X_test).argmax(1) == y_test).float().mean()
    right = (guess[take] == y_hidden[take]).float().mean()
    rarest = min(Counter(guess[take].tolist()).values())
    print(f"round {r}: {int(take.sum())} pseudo-labels ({right:.3f} right, rarest class {rarest}), "
          f"loss {loss:.4f}, test accuracy {acc:.4f}")
# SPDX-License-Identifier: Apache-2.0
