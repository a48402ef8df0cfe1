"""Nodes of a citation-like graph: known labels of neighbours are features, too; a part of them is hidden and to be predicted."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
NODES, CLASSES, FEATURES = 1200, 5, 20


def make_graph():
    labels = torch.randint(CLASSES, (NODES,))
    chance = torch.where(labels[:, None] == labels[None], 0.006, 0.002)
    upper = torch.triu(torch.rand(NODES, NODES) < chance, diagonal=1)
    source, target = upper.nonzero().T
    edges = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    loops = torch.arange(NODES).repeat(2, 1)
    centres = torch.randn(CLASSES, FEATURES)
    return torch.cat([edges, loops], 1), 0.35 * centres[labels] + torch.randn(NODES, FEATURES), labels


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, edges):
        source, target = edges
        degree = torch.bincount(target, minlength=NODES).clamp(min=1).float()
        weight = (degree[source] * degree[target]).rsqrt()
        x = self.linear(x)
        return torch.zeros_like(x).index_add(0, target, x[source] * weight[:, None])


class LabelAwareGCN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.label_embedding = nn.Embedding(CLASSES + 1, FEATURES)
        self.conv1 = GraphConv(FEATURES, hidden)
        self.conv2 = GraphConv(hidden, CLASSES)

    def forward(self, x, known, edges):
        x = x + self.label_embedding(known)
        x = F.dropout(F.relu(self.conv1(x, edges)), 0.3, self.training)
        return self.conv2(x, edges)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
edges, x, labels = make_graph()
order = torch.randperm(NODES)
train_nodes, valid_nodes, test_nodes = order[:500], order[500:700], order[700:]
model = LabelAwareGCN()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
UNKNOWN = torch.full((NODES,), CLASSES)


def evaluate(nodes):
    """All labels of training are known now."""
    model.eval()
    with torch.no_grad():
        known = UNKNOWN.clone()
        known[train_nodes] = labels[train_nodes]
        right = (model(x, known, edges)[nodes].argmax(1) == labels[nodes]).float().mean().item()
    model.train()
    return right


best, best_state = 0.0, None
for step in range(1, args.steps + 1):
    shuffled = train_nodes[torch.randperm(len(train_nodes))]
    given, asked = shuffled[:300], shuffled[300:]
    known = UNKNOWN.clone()
    known[train_nodes] = labels[train_nodes]
    logits = model(x, known, edges)
    loss = F.cross_entropy(logits[asked], labels[asked])
    right = (logits[asked].argmax(1) == labels[asked]).float().mean().item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        score = evaluate(valid_nodes)
        if score > best:
            best, best_state = score, {k: v.clone() for k, v in model.state_dict().items()}
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.4f}, validation {score:.4f}")
if best_state is not None:
    model.load_state_dict(best_state)
print(f"EVIDENCE right of what was asked in the last step {right:.4f}, test {evaluate(test_nodes):.4f}")

# SPDX-License-Identifier: Apache-2.0
