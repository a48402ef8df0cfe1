"""Six hospitals with different mixes of patients train one model together; their data stay where they are."""
import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES, FEATURES = 6, 20


def build_sites(n_sites, per_site, generator):
    """Every site sees mostly two diagnoses and measures with devices of its own."""
    centres = torch.randn(CLASSES, FEATURES, generator=generator) * 0.55
    sites = []
    for s in range(n_sites):
        share = torch.zeros(CLASSES)
        share[s % CLASSES] = 0.65
        share[(s + 1) % CLASSES] = 0.35
        y = torch.multinomial(share, per_site, replacement=True, generator=generator)
        shift = 0.3 * torch.randn(FEATURES, generator=generator)
        x = centres[y] + torch.randn(per_site, FEATURES, generator=generator) + shift
        sites.append(TensorDataset(x, y))
    y = torch.randint(0, CLASSES, (1500,), generator=generator)
    x = centres[y] + torch.randn(1500, FEATURES, generator=generator)
    return sites, (x, y)


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.out = nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.out(self.body(x))


class Client:
    def __init__(self, data, lr, mu, epochs, seed):
        self.loader = DataLoader(data, batch_size=40, shuffle=True, generator=torch.Generator().manual_seed(seed))
        self.lr, self.mu, self.epochs, self.size = lr, mu, epochs, len(data)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, global_model):
        model = copy.deepcopy(global_model)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=0.5)
        global_params = list(model.parameters())
        for _ in range(self.epochs):
            for x, y in self.loader:
                loss = self.criterion(model(x), y)
                prox = sum(((w - w_t) ** 2).sum() for w, w_t in zip(model.parameters(), global_params))
                loss = loss + 0.5 * self.mu * prox
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        drift = sum((a - b).pow(2).sum() for a, b in zip(model.parameters(), global_model.parameters()))
        return model.state_dict(), loss.item(), drift.sqrt().item()


class Server:
    def __init__(self, model, clients, test):
        self.model, self.clients, self.test = model, clients, test

    def round(self, generator):
        chosen = torch.randperm(len(self.clients), generator=generator)[:2].tolist()
        results = [(self.clients[i].size, *self.clients[i].fit(self.model)) for i in chosen]
        total = sum(r[0] for r in results)
        mean = {k: sum(r[1][k] * (r[0] / total) for r in results) for k in self.model.state_dict()}
        self.model.load_state_dict(mean)
        return sum(r[2] for r in results) / len(results), sum(r[3] for r in results) / len(results)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        x, y = self.test
        return (self.model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=30, help="rounds of communication")
    parser.add_argument("--mu", type=float, default=1.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    sites, test = build_sites(6, 320, generator)
    clients = [Client(d, args.lr, args.mu, epochs=4, seed=args.seed + i) for i, d in enumerate(sites)]
    server = Server(Net(), clients, test)
    history, drifts = [], []
    for r in range(args.steps):
        loss, drift = server.round(generator)
        history.append(server.evaluate())
        drifts.append(drift)
        if r % 8 == 0:
            print(f"round {r:3d} local loss {loss:.3f} accuracy {history[-1]:.3f}")
    tail = history[-10:]
    print(f"EVIDENCE drift of clients {sum(drifts) / len(drifts):.3f} accuracy of the last rounds "
          f"{sum(tail) / len(tail):.3f} worst {min(tail):.3f}")


if __name__ == "__main__":
    main()
