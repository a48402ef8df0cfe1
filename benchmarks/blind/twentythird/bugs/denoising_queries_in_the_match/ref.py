"""A set predictor of events in time, DETR style: matched queries, helped by noised copies of the truth in training."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

CLASSES, LENGTH, QUERIES, EVENTS = 3, 40, 8, 3
NOTHING = CLASSES


def scenes(gen, count=24):
    """Each signal has three events of a class, a middle and a width; each class has its own shape."""
    middle = torch.rand(count, EVENTS, generator=gen) * 0.8 + 0.1
    width = torch.rand(count, EVENTS, generator=gen) * 0.1 + 0.06
    label = torch.randint(0, CLASSES, (count, EVENTS), generator=gen)
    at = (torch.linspace(0, 1, LENGTH) - middle[..., None]) / width[..., None]
    shapes = torch.stack([(1 - at.abs()).clamp(min=0), torch.sign(at) * (at.abs() < 1), -(1 - at ** 2).clamp(min=0)])
    picked = shapes.gather(0, label[None, ..., None].expand(1, -1, -1, LENGTH))[0]
    signal = picked.sum(1) + 0.05 * torch.randn(count, LENGTH, generator=gen)
    return signal, label, torch.stack([middle, width], dim=-1)


class Detector(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, width, 5, padding=2), nn.ReLU(), nn.Conv1d(width, width, 5, padding=2))
        self.places = nn.Parameter(torch.randn(LENGTH, width) * 0.5)
        self.queries = nn.Parameter(torch.randn(QUERIES, width))
        self.of_label, self.of_box = nn.Embedding(CLASSES, width), nn.Linear(2, width)
        layer = nn.TransformerDecoderLayer(width, 4, 96, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.score, self.box = nn.Linear(width, CLASSES + 1), nn.Linear(width, 2)

    def forward(self, signal, noised=None):
        memory = self.stem(signal[:, None]).transpose(1, 2) + self.places
        queries, mask = self.queries.expand(len(signal), -1, -1), None
        if noised is not None:
            labels, boxes = noised
            queries = torch.cat([self.of_label(labels) + self.of_box(boxes), queries], dim=1)
            group = torch.arange(queries.shape[1]) < labels.shape[1]
            mask = group[:, None] != group[None]
        out = self.decoder(queries, memory, tgt_mask=mask)
        return self.score(out), self.box(out).sigmoid()


def matched_loss(scores, boxes, labels, truth):
    """Hungarian matching of queries and events. What is left over is nothing."""
    target = torch.full(scores.shape[:2], NOTHING)
    box_loss = 0.0
    with torch.no_grad():
        cost = -scores.softmax(-1).gather(2, labels[:, None].expand(-1, scores.shape[1], -1)) + 4 * torch.cdist(boxes, truth, p=1)
    for b in range(len(scores)):
        rows, cols = linear_sum_assignment(cost[b].numpy())
        target[b, rows] = labels[b, cols]
        box_loss = box_loss + F.l1_loss(boxes[b, rows], truth[b, cols])
    weight = torch.ones(CLASSES + 1)
    weight[NOTHING] = 0.3
    return F.cross_entropy(scores.transpose(1, 2), target, weight=weight) + 5 * box_loss / len(scores)


def detection_losses(scores, boxes, labels, truth, dn_num_split):
    """Denoising queries know which event is theirs, only the others are matched."""
    dn_scores, normal_scores = scores.split(dn_num_split, dim=1)
    dn_boxes, normal_boxes = boxes.split(dn_num_split, dim=1)
    main = matched_loss(normal_scores, normal_boxes, labels, truth)
    denoising = F.cross_entropy(dn_scores.transpose(1, 2), labels) + 5 * F.l1_loss(dn_boxes, truth)
    return main, denoising


@torch.no_grad()
def found(model):
    signal, labels, truth = scenes(torch.Generator().manual_seed(88), 128)
    scores, boxes = model(signal)
    kind = scores.argmax(-1)
    near = torch.cdist(boxes[..., :1], truth[..., :1]) < 0.05
    hit = near & (kind[:, :, None] == labels[:, None])
    return hit.any(1).float().mean().item(), (kind != NOTHING).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        signal, labels, truth = scenes(gen)
        wrong = torch.rand(labels.shape, generator=gen) < 0.2
        noisy_labels = torch.where(wrong, torch.randint(0, CLASSES, labels.shape, generator=gen), labels)
        noisy_boxes = truth + 0.02 * torch.randn(truth.shape, generator=gen)
        scores, boxes = model(signal, (noisy_labels, noisy_boxes))
        main_loss, dn_loss = detection_losses(scores, boxes, labels, truth, [EVENTS, QUERIES])
        optimizer.zero_grad()
        (main_loss + dn_loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} matched {main_loss.item():.4f} denoising {dn_loss.item():.4f}")
    recall, busy = found(model)
    print(f"EVIDENCE main_loss={main_loss.item():.4f} recall={recall:.4f} queries_in_use={busy:.4f}")


if __name__ == "__main__":
    main()
