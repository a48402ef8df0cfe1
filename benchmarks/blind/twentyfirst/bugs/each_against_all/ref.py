"""Tomorrow's highest tide from the last days: a small network on lags and on a moving difference."""
import argparse

import torch
import torch.nn as nn


def tide_series(days=1500):
    g = torch.Generator().manual_seed(31)
    t = torch.arange(days).float()
    moon = 1.2 * torch.sin(2 * torch.pi * t / 14.77) + 0.5 * torch.sin(2 * torch.pi * t / 27.55)
    wind = torch.zeros(days)
    for i in range(1, days):
        wind[i] = 0.7 * wind[i - 1] + 0.4 * torch.randn(1, generator=g).item()
    return moon + wind


def features(series, lags=6):
    """Rows for the days lags .. end - 1; the target is the day after."""
    change = torch.zeros_like(series)
    change[1:] = series[1:] - series[:-1]
    columns = [series[lags - k: len(series) - 1 - k] for k in range(lags)]
    columns.append(change[lags: len(series) - 1])
    return torch.stack(columns, 1), series[lags + 1:].unsqueeze(1)


class TideNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(inputs, 40), nn.Tanh(), nn.Linear(40, 20), nn.Tanh())
        self.readout = nn.Linear(20, 1)

    def forward(self, x):
        return self.readout(self.hidden(x))


def squared_error(prediction, target):
    return (prediction - target).pow(2).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=600)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, y = features(tide_series())
    cut = int(0.8 * len(x))
    mean, std = x[:cut].mean(0), x[:cut].std(0)
    x = (x - mean) / std
    net = TideNet(x.shape[1])
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    decay = torch.optim.lr_scheduler.StepLR(optimizer, max(1, args.steps // 3), 0.4)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        idx = torch.randint(0, cut, (64,), generator=gen)
        loss = squared_error(net(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        if step % 150 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    with torch.no_grad():
        guess = net(x[cut:])
        error = (guess.flatten() - y[cut:].flatten()).abs().mean().item()
        spread = guess.std().item()
        knows = torch.corrcoef(torch.stack([x[cut:, -1], y[cut:].flatten() - (x[cut:, 0] * std[0] + mean[0])]))[0, 1].item()
    print(f"EVIDENCE held_out_error={error:.4f} spread_of_forecasts={spread:.4f} change_knows_tomorrow={knows:.3f}")


if __name__ == "__main__":
    main()
