"""Fine-tuning under a shift: the head first on cached features, then the blocks with the greatest relative gradients, chosen anew at times."""

import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.transforms import v2

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1.2e-3)
parser.add_argument("--steps", type=int, default=12, help="epochs of fine-tuning")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SIZE, CLASSES = 16, 6


def draw_signs(n, shifted):
    """Simple signs (bars, cross, ring, corner, dot); the shifted camera has a tint, inverted light and blur."""
    label = torch.randint(CLASSES, (n,))
    row, col = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    dy, dx = (row[None] - (6 + 4 * torch.rand(n, 1, 1)), col[None] - (6 + 4 * torch.rand(n, 1, 1)))
    far = (dy**2 + dx**2).sqrt()
    size = 3.5 + 1.5 * torch.rand(n, 1, 1)
    signs = torch.stack([
        (dy.abs() < 1.2) & (dx.abs() < size), (dx.abs() < 1.2) & (dy.abs() < size),
        ((dy.abs() < 1) | (dx.abs() < 1)) & (far < size), (far - size + 1).abs() < 1,
        ((dy - size / 2).abs() < 1) & (dx.abs() < size) | ((dx - size / 2).abs() < 1) & (dy.abs() < size), far < size / 1.7,
    ], 1)
    ink = signs[torch.arange(n), label].float()[:, None]
    image = 0.2 + ink * (0.4 + 0.4 * torch.rand(n, 3, 1, 1)) + 0.12 * torch.randn(n, 3, SIZE, SIZE)
    if shifted:
        image = 0.9 - 0.8 * image * torch.tensor([0.9, 0.4, 0.6])[:, None, None]
        image = v2.functional.gaussian_blur(image, [3, 3]) + 0.06 * torch.randn_like(image)
    return image, label


class SignNet(nn.Module):
    def __init__(self, widths=(16, 24, 32)):
        super().__init__()
        self.blocks = nn.ModuleList()
        for i, o in zip((3, *widths), widths):
            self.blocks.append(nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)))
        self.head = nn.Linear(widths[-1], CLASSES)

    def features(self, x):
        for block in self.blocks:
            x = block(x)
        return x.mean((2, 3))

    def forward(self, x):
        return self.head(self.features(x))


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def relative_gradients(model, data):
    """Norm of the gradient over that of the weights, a number for each block (nothing is updated)."""
    model.eval()
    model.requires_grad_(True)
    F.cross_entropy(model(data[0]), data[1]).backward()
    ratio = [sum(p.grad.norm() / (p.norm() + 1e-6) for p in block.parameters()).item() for block in model.blocks]
    model.zero_grad()
    return ratio


def thaw(model, chosen):
    for k, block in enumerate(model.blocks):
        block.requires_grad_(k in chosen)
    parameters = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.Adam(parameters, lr=args.lr, weight_decay=1e-4)


def set_modes(model):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


source, target, valid, test = draw_signs(1500, False), draw_signs(312, True), draw_signs(200, True), draw_signs(800, True)
model = SignNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for x, y in DataLoader(TensorDataset(*source), batch_size=50, shuffle=True):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"source {accuracy(model, source):.3f}, target before {accuracy(model, test):.3f}")
original = copy.deepcopy(model).requires_grad_(False)

for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):
        module.reset_running_stats()
        module.momentum = None
model.train()
with torch.no_grad():
    for part in target[0].split(65):
        model(part)
for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):
        module.momentum = 0.1
model.eval()
with torch.no_grad():
    cached = model.features(target[0])
head_optimizer = torch.optim.LBFGS(model.head.parameters(), max_iter=25, line_search_fn="strong_wolfe")


def closure():
    head_optimizer.zero_grad()
    value = F.cross_entropy(model.head(cached), target[1]) + 1e-2 * model.head.weight.pow(2).sum()
    value.backward()
    return value


head_optimizer.step(closure)
print(f"after the probe {accuracy(model, test):.3f}")

augment = v2.Compose([v2.RandomAffine(8, translate=(0.06, 0.06), fill=0.75), v2.RandomErasing(p=0.2, scale=(0.02, 0.1), value=0.75)])
chosen, optimizer, best, kept = None, None, 0.0, None
for epoch in range(args.steps):
    if epoch % 4 == 0:
        ratio = relative_gradients(model, target)
        now = set(sorted(range(len(ratio)), key=lambda k: -ratio[k])[: 1 + (epoch > 0)])
        if now != chosen:
            chosen, optimizer = now, thaw(model, now)
        else:
            thaw(model, now)
    set_modes(model)
    for x, y in DataLoader(TensorDataset(*target), batch_size=26, shuffle=True):
        anchor = sum(
            (p - o).pow(2).sum() for (name, p), o in zip(model.named_parameters(), original.parameters())
            if p.requires_grad and "head" not in name
        )
        loss = F.cross_entropy(model(augment(x)), y) + 1e-2 * anchor
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    score = accuracy(model, valid)
    if score >= best:
        best, kept = score, {name: value.clone() for name, value in model.state_dict().items()}
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: blocks {sorted(chosen)}, loss {loss.item():.3f}, valid {score:.3f}")
model.load_state_dict(kept)
print(f"best valid {best:.3f}, test {accuracy(model, test):.3f}, on the source now {accuracy(model, source):.3f}")
