"""A small grid detector trained on mosaics: four crops of pictures side by side, with their boxes."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

SIZE, GRID = 32, 4


def picture(gen):
    """A bright rectangle on noise, and its box."""
    image = 0.2 * torch.randn(SIZE, SIZE, generator=gen)
    w, h = (int(v) for v in torch.randint(8, 17, (2,), generator=gen))
    x, y = int(torch.randint(0, SIZE - w + 1, (), generator=gen)), int(torch.randint(0, SIZE - h + 1, (), generator=gen))
    image[y:y + h, x:x + w] += 1.5
    return image, torch.tensor([x, y, x + w, y + h], dtype=torch.float32)


def mosaic(gen):
    """The seams cross at a random place. Each tile shows a crop of one picture."""
    canvas, boxes, tiles = torch.zeros(SIZE, SIZE), [], []
    cx, cy = (int(v) for v in torch.randint(12, 21, (2,), generator=gen))
    for x1, y1, x2, y2 in ((0, 0, cx, cy), (cx, 0, SIZE, cy), (0, cy, cx, SIZE), (cx, cy, SIZE, SIZE)):
        image, box = picture(gen)
        left = int(torch.randint(0, SIZE - (x2 - x1) + 1, (), generator=gen))
        top = int(torch.randint(0, SIZE - (y2 - y1) + 1, (), generator=gen))
        canvas[y1:y2, x1:x2] = image[top:top + y2 - y1, left:left + x2 - x1]
        box = box + torch.tensor([x1 - left, y1 - top, x1 - left, y1 - top])
        seen = torch.stack([box[0::2].clamp(x1, x2), box[1::2].clamp(y1, y2)], 1).flatten()
        if (seen[2] - seen[0]) < 3 or (seen[3] - seen[1]) < 3:
            continue
        box = seen
        boxes.append(box.clamp(0, SIZE))
        tiles.append(torch.tensor([x1, y1, x2, y2], dtype=torch.float32))
    if not boxes:
        return mosaic(gen)
    return canvas, torch.stack(boxes), torch.stack(tiles)


def targets(boxes):
    """Cell of the centre, with the distances of the four sides from the middle of the cell."""
    cell = SIZE / GRID
    where = ((boxes[:, :2] + boxes[:, 2:]) / 2 / cell).long().clamp(0, GRID - 1)
    middle = (where + 0.5) * cell
    sides = torch.cat([middle - boxes[:, :2], boxes[:, 2:] - middle], 1) / cell
    return where, sides


class Detector(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        layers, channels = [], 1
        for out in (width, width, 2 * width):
            layers += [nn.Conv2d(channels, out, 3, stride=2, padding=1), nn.ReLU()]
            channels = out
        self.body = nn.Sequential(*layers, nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(channels, 5, 1)

    def forward(self, x):
        return self.head(self.body(x[:, None]))


def batch_of(gen, n):
    items = [mosaic(gen) for _ in range(n)]
    return torch.stack([i[0] for i in items]), [i[1] for i in items], [i[2] for i in items]


def detection_loss(output, boxes):
    present, sides_loss, count = torch.zeros_like(output[:, 0]), 0.0, 0
    for i, own in enumerate(boxes):
        where, sides = targets(own)
        present[i, where[:, 1], where[:, 0]] = 1
        sides_loss = sides_loss + F.smooth_l1_loss(output[i, 1:, where[:, 1], where[:, 0]].T, sides, reduction="sum")
        count += len(own)
    return F.binary_cross_entropy_with_logits(output[:, 0], present) + sides_loss / count


def iou(a, b):
    inner = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0).prod()
    return inner / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inner)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 12)
    outside = area = 0.0
    for step in range(args.steps):
        images, boxes, tiles = batch_of(gen, 12)
        loss = detection_loss(model(images), boxes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for own, tile in zip(torch.cat(boxes), torch.cat(tiles)):
            shared = (torch.minimum(own[2:], tile[2:]) - torch.maximum(own[:2], tile[:2])).clamp(min=0).prod().item()
            whole = (own[2:] - own[:2]).prod().item()
            outside, area = outside + whole - shared, area + whole
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")
    images, boxes, tiles = batch_of(torch.Generator().manual_seed(400), 60)
    overlaps = []
    with torch.no_grad():
        output = model(images)
    for i in range(len(images)):
        for own, tile in zip(boxes[i], tiles[i]):
            visible = torch.cat([torch.maximum(own[:2], tile[:2]), torch.minimum(own[2:], tile[2:])])
            where, _ = targets(visible[None])
            l, t, r, b = output[i, 1:, where[0, 1], where[0, 0]] * (SIZE / GRID)
            mx, my = ((where[0] + 0.5) * SIZE / GRID).tolist()
            overlaps.append(iou(torch.stack([mx - l, my - t, mx + r, my + b]), visible).item())
    print(f"EVIDENCE boxes_outside_their_tile={outside / area:.4f} iou_with_what_is_seen={sum(overlaps) / len(overlaps):.4f}")


if __name__ == "__main__":
    main()
