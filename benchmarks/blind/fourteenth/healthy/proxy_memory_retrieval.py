"""Retrieval of shapes whose classes were never seen: proxies, a memory of past embeddings once it is full, P x K batches."""

import argparse
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=260)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SEEN, UNSEEN, POINTS = 24, 12, 32


def make_outlines(classes, each):
    """Closed outlines given by four Fourier coefficients of the class; turned, scaled and noisy."""
    angle = torch.arange(POINTS) / POINTS * 2 * torch.pi
    coefficient = 0.35 * torch.randn(classes, 4, 2)
    label = torch.arange(classes).repeat_interleave(each)
    wave = torch.arange(2, 6)[None, :, None] * (angle + 6.28 * torch.rand(len(label), 1, 1))
    c = coefficient[label][..., None] * (1 + 0.15 * torch.randn(len(label), 4, 2, 1))
    radius = 1 + (c[:, :, 0] * wave.cos() + c[:, :, 1] * wave.sin()).sum(1)
    radius = radius * (0.8 + 0.4 * torch.rand(len(label), 1)) + 0.08 * torch.randn(len(label), POINTS)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), label


class ClassBatches(Sampler):
    """P classes by K members, classes with a poor recall are drawn more often; a batch has at least two of each class."""

    def __init__(self, label, p, k, length):
        self.rows = [torch.nonzero(label == c).flatten() for c in label.unique()]
        self.p, self.k, self.length = p, k, length
        self.weight = torch.ones(len(self.rows))

    def __len__(self):
        return self.length

    def __iter__(self):
        for _ in range(self.length):
            batch = []
            for c in torch.multinomial(self.weight, self.p).tolist():
                k = int(torch.randint(2, self.k + 1, ()))
                batch += self.rows[c][torch.randperm(len(self.rows[c]))[:k]].tolist()
            yield batch


class OutlineNet(nn.Module):
    def __init__(self, dim=24, width=32):
        super().__init__()
        self.body = nn.ModuleList([nn.Conv1d(i, width, 5, padding=2, padding_mode="circular") for i in (2, width, width)])
        self.out = nn.Linear(2 * width, dim)

    def forward(self, x):
        for k, layer in enumerate(self.body):
            x = F.relu(layer(x))
            if k == 0:
                x = F.max_pool1d(x, 2)
        return F.normalize(self.out(torch.cat([x.mean(2), x.amax(2)], 1)), dim=1)


def proxy_anchor(z, label, proxies, alpha=16.0, margin=0.1):
    similarity = z @ F.normalize(proxies, dim=1).T
    positive = F.one_hot(label, len(proxies)).bool()
    pull = torch.where(positive, -alpha * (similarity - margin), -torch.inf)
    push = torch.where(positive, -torch.inf, alpha * (similarity + margin))
    present = positive.any(0)
    return F.softplus(pull[:, present].logsumexp(0)).mean() + F.softplus(push.logsumexp(0)).mean()


def memory_contrast(z, label, memory):
    old, old_label = (torch.cat(part) for part in zip(*memory))
    similarity, same = z @ old.T, label[:, None] == old_label
    pull = F.relu(0.9 - similarity)[same]
    push = F.relu(similarity - 0.5)[~same]
    push = push[push > 0]
    terms = [part.mean() for part in (pull, push) if len(part)]
    return sum(terms) if terms else None


@torch.no_grad()
def recall_per_class(model, x, label, k=1):
    model.eval()
    z = model(x)
    similarity = (z @ z.T).fill_diagonal_(-2)
    hit = (label[similarity.topk(k, 1).indices] == label[:, None]).any(1).float()
    return torch.stack([hit[label == c].mean() for c in label.unique()])


x, label = make_outlines(SEEN + UNSEEN, 24)
seen = label < SEEN
x_new, label_new = x[~seen], label[~seen]
sampler = ClassBatches(label[seen], p=8, k=5, length=20)
loader = DataLoader(TensorDataset(x[seen], label[seen]), batch_sampler=sampler)
model = OutlineNet()
proxies = nn.Parameter(torch.randn(SEEN, 24))
optimizer = torch.optim.AdamW(
    [{"params": model.parameters()}, {"params": [proxies], "lr": 10 * args.lr, "weight_decay": 0.0}], lr=args.lr
)
memory, step, skipped = deque(maxlen=12), 0, 0
print(f"before: recall@1 of unseen classes {recall_per_class(model, x_new, label_new).mean():.3f}")
while step < args.steps:
    for images, y in loader:
        model.train()
        z = model(images)
        loss = proxy_anchor(z, y, proxies)
        if len(memory) == memory.maxlen and step > 60:
            extra = memory_contrast(z, y, memory)
            if extra is None:
                skipped += 1
            else:
                loss = loss + extra
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        memory.append((z.detach(), y))
        step += 1
    sampler.weight = 0.2 + 1 - recall_per_class(model, x[seen], label[seen])
    if step % 40 == 0:
        new = recall_per_class(model, x_new, label_new).mean()
        print(f"step {step}: loss {loss.item():.3f}, recall@1 seen {1.2 - sampler.weight.mean():.3f}, unseen {new:.3f}")
        if step == 160:
            for group in optimizer.param_groups:
                group["lr"] *= 0.3
print(f"memory term left out {skipped} times, recall@1 of unseen classes {recall_per_class(model, x_new, label_new).mean():.3f}")
