"""Search in manuals: a two-tower encoder trained on question-section pairs, with hard negatives mined anew every epoch."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--steps", type=int, default=14, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

TOPICS, PER_TOPIC, WORDS, NEGATIVES = 60, 25, 800, 3
SECTION_LEN, QUESTION_LEN = 24, 9


def write_sections():
    """Sections of one topic share most of their words; four of the topic's terms tell one from its neighbours."""
    common, terms = torch.randint(0, 600, (TOPICS, 20)), torch.randint(600, WORDS, (TOPICS, 14))
    sections, own = [], []
    for topic in range(TOPICS):
        for _ in range(PER_TOPIC):
            special = terms[topic][torch.randperm(14)[:4]]
            body = common[topic][torch.randint(0, 20, (SECTION_LEN - 6,))]
            sections.append(torch.cat([body, special, special[:2]]))
            own.append(special)
    return torch.stack(sections), torch.stack(own), common


def ask(own, common):
    questions = []
    for row, special in enumerate(own):
        topic = common[row // PER_TOPIC]
        chosen = special[torch.randperm(4)[:3]]
        chat = torch.randint(0, WORDS, (2,))
        questions.append(torch.cat([topic[torch.randint(0, 20, (QUESTION_LEN - 5,))], chosen, chat]))
    return torch.stack(questions)


class Pairs(Dataset):
    def __init__(self, questions, sections):
        self.questions, self.sections = questions, sections
        self.pool = None

    def __len__(self):
        return len(self.sections)

    def __getitem__(self, row):
        if self.pool is None:
            chosen = torch.randint(len(self), (NEGATIVES,))
        else:
            chosen = self.pool[row, torch.randperm(self.pool.shape[1])[:NEGATIVES]]
        asked = self.questions[torch.randint(len(self.questions), ()).item()]
        return asked[row], self.sections[row], self.sections[chosen], row, chosen


class Tower(nn.Module):
    def __init__(self, embedding, dim, out):
        super().__init__()
        self.embedding = embedding
        self.score = nn.Linear(dim, 1)
        self.project = nn.Sequential(nn.Linear(dim, 96), nn.GELU(), nn.Linear(96, out))

    def forward(self, ids):
        x = self.embedding(ids)
        weight = torch.softmax(self.score(x), dim=1)
        return F.normalize(self.project((weight * x).sum(1)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, dim=64, out=64):
        super().__init__()
        embedding = nn.Embedding(WORDS, dim)
        self.question, self.section = Tower(embedding, dim, out), Tower(embedding, dim, out)
        self.log_scale = nn.Parameter(torch.tensor(math.log(12.0)))


@torch.no_grad()
def encode_pairs(model, loader):
    model.eval()
    parts = [(model.question(q), model.section(s)) for q, s, *_ in loader]
    return torch.cat([q for q, _ in parts]), torch.cat([s for _, s in parts])


def mine(model, loader, top=12):
    questions, sections = encode_pairs(model, loader)
    similarity = questions @ sections.T
    similarity.fill_diagonal_(-1.0)
    return similarity.topk(top, dim=1).indices


sections, own, common = write_sections()
train_set = Pairs([ask(own, common) for _ in range(8)], sections)
test_set = Pairs([ask(own, common)], sections)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
index_loader = DataLoader(train_set, batch_size=300)
test_loader = DataLoader(test_set, batch_size=300)
model = TwoTower()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.92)

for epoch in range(args.steps):
    if epoch >= 2:
        train_set.pool = mine(model, index_loader)
    model.train()
    total, near = 0.0, []
    for question, section, others, row, chosen in train_loader:
        q, s = model.question(question), model.section(section)
        n = model.section(others.flatten(0, 1)).view(len(row), NEGATIVES, -1)
        scores = torch.cat([(q * s).sum(1, keepdim=True), (q[:, None] * n).sum(2)], dim=1)
        scale = model.log_scale.clamp(max=math.log(50.0)).exp()
        scores = scores.masked_fill(F.pad(chosen == row[:, None], (1, 0)), -1e4)
        loss = F.cross_entropy(scale * scores, torch.zeros(len(row), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        near.append((row[:, None] // PER_TOPIC == chosen // PER_TOPIC).float().mean().item())
    scheduler.step()
    if epoch % 3 == 0 or epoch == args.steps - 1:
        q, s = encode_pairs(model, test_loader)
        rank = ((q @ s.T) > (q * s).sum(1, keepdim=True)).sum(1)
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.3f}, recall@1 {(rank == 0).float().mean():.3f}, mrr {(1 / (rank + 1)).mean():.3f}")
print(f"EVIDENCE negatives from the topic of the question {sum(near) / len(near):.3f}, test recall@1 {(rank == 0).float().mean():.3f}")
