# %% [markdown]
# # Trying things out
# Cells that were run in this order: some twice, some with other settings, some only to look.

# %%
import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=40)
args, _ = parser.parse_known_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

# %% data
x_all = torch.rand(600, 1, 8, 8)
y_all = (x_all[:, 0, :4].mean((1, 2)) > x_all[:, 0, 4:].mean((1, 2))).long()
x_all[y_all == 1, 0, :4] += 0.3
x_train, y_train, x_test, y_test = x_all[:450], y_all[:450], x_all[450:], y_all[450:]
print(x_train.shape, y_train.float().mean())

# %% a first look with a linear model
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
out = model(x_train[:4])
print(out.shape, F.cross_entropy(out, y_train[:4]).item())
F.cross_entropy(out, y_train[:4]).backward()
print([p.grad.norm().item() for p in model.parameters()])


# %%
def accuracy(net, x, y):
    was = net.training
    net.eval()
    with torch.no_grad():
        share = (net(x).argmax(1) == y).float().mean().item()
    net.train(was)
    return share


def fit(net, opt, steps, batch=32, verbose=True):
    history = []
    for i in range(steps):
        pick = torch.randint(len(x_train), (batch,))
        opt.zero_grad()
        loss = F.cross_entropy(net(x_train[pick]), y_train[pick])
        loss.backward()
        opt.step()
        history.append(loss.item())
        if verbose and i % 20 == 19:
            print(i, round(loss.item(), 4), round(accuracy(net, x_test, y_test), 3))
    return history


# %%
opt = optim.SGD(model.parameters(), lr=args.lr)
losses = fit(model, opt, args.steps)

# %% once more, it went down
losses += fit(model, opt, args.steps // 2)

# %% now a network
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(512, 2))
opt = optim.Adam(model.parameters(), lr=args.lr / 10)
losses = fit(model, opt, args.steps)

# %% the rate is too great?
for group in opt.param_groups:
    group["lr"] /= 5
losses += fit(model, opt, args.steps, batch=64)

# %% which weights are large
for name, p in model.named_parameters():
    print(name, tuple(p.shape), round(p.abs().max().item(), 3))

# %% try without the dropout, keep the weights
small = nn.Sequential(*[layer for layer in model if not isinstance(layer, nn.Dropout)])
opt2 = optim.SGD(small.parameters(), lr=args.lr / 10, momentum=0.9)
losses2 = fit(small, opt2, args.steps // 2, verbose=False)

# %%
print(f"before {sum(losses[-10:]) / 10:.4f}, without dropout {sum(losses2[-10:]) / 10:.4f}")
print(accuracy(model, x_test, y_test), accuracy(small, x_test, y_test))

# SPDX-License-Identifier: Apache-2.0
