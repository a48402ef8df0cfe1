"""Actions in short clips: what moves (three shapes) and where it moves (four directions). Frames go through 2-D convolutions,
a depthwise convolution over time joins them."""
from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

SHAPES, MOVES = 3, 4


@dataclass
class Config:
    frames: int = 6
    size: int = 12
    width: int = 16
    batch: int = 16
    seed: int = 0
    lr: float = 4e-3
    steps: int = 300


def render_clips(n: int, cfg: Config, gen: torch.Generator) -> tuple[Tensor, Tensor]:
    """Clips on a torus: (n, frames, 1, size, size), and labels shape * MOVES + move."""
    shape = torch.randint(0, SHAPES, (n,), generator=gen)
    move = torch.randint(0, MOVES, (n,), generator=gen)
    step = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])[move]
    start = torch.randint(0, cfg.size, (n, 2), generator=gen)
    sprites = torch.zeros(SHAPES, cfg.size, cfg.size)
    sprites[0, :5, :5] = 1.0                                    # a block
    sprites[1, 2, :5] = sprites[1, :5, 2] = 1.0                 # a cross
    sprites[2, :5, 0] = sprites[2, :5, 4] = 1.0                 # a frame
    sprites[2, 0, :5] = sprites[2, 4, :5] = 1.0
    clips = torch.empty(n, cfg.frames, 1, cfg.size, cfg.size)
    for i in range(n):
        for t in range(cfg.frames):
            dy, dx = (start[i] + t * step[i]).tolist()
            clips[i, t, 0] = sprites[shape[i]].roll((dy, dx), (0, 1))
    clips += 0.15 * torch.randn(clips.shape, generator=gen)
    return clips, shape * MOVES + move


class TemporalConv(nn.Module):
    """Residual depthwise convolution over time for features laid out as (batch * time, C, H, W)."""

    def __init__(self, channels: int, frames: int):
        super().__init__()
        self.frames = frames
        self.conv = nn.Conv3d(channels, channels, (3, 1, 1), padding=(1, 0, 0), groups=channels)
        self.mix = nn.Conv3d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        bt, c, h, w = x.shape
        v = x.view(-1, self.frames, c, h, w).permute(0, 2, 1, 3, 4)
        v = self.mix(F.relu(self.conv(v)))
        return x + v.permute(0, 2, 1, 3, 4).reshape(bt, c, h, w)


class ClipNet(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        w = cfg.width
        self.frames = cfg.frames
        self.stem = nn.Sequential(nn.Conv2d(1, w, 5, 2, 2, padding_mode="circular", bias=False), nn.BatchNorm2d(w), nn.ReLU())
        self.time1 = TemporalConv(w, cfg.frames)
        self.mid = nn.Sequential(nn.Conv2d(w, 2 * w, 3, 1, 1, padding_mode="circular", bias=False), nn.BatchNorm2d(2 * w), nn.ReLU())
        self.time2 = TemporalConv(2 * w, cfg.frames)
        self.last = nn.Sequential(nn.Conv2d(2 * w, 2 * w, 3, 1, 1, padding_mode="circular", bias=False), nn.BatchNorm2d(2 * w), nn.ReLU())
        self.head = nn.Linear(2 * w, SHAPES * MOVES)

    def forward(self, clip: Tensor) -> Tensor:
        b, t = clip.shape[:2]
        h = self.time1(self.stem(clip.flatten(0, 1)))
        h = self.last(self.time2(self.mid(h)))
        return self.head(h.mean((2, 3)).view(b, t, -1).mean(1))


def run_training(model: nn.Module, loader: DataLoader, cfg: Config) -> None:
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=cfg.steps, power=0.9)
    done = 0
    while done < cfg.steps:
        for clip, label in loader:
            loss = F.cross_entropy(model(clip), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            done += 1
            if done % 40 == 0:
                print(f"[{done}/{cfg.steps}] loss {loss.item():.3f}")
            if done == cfg.steps:
                return


@torch.inference_mode()
def accuracy(model: nn.Module, clips: Tensor, labels: Tensor) -> tuple[float, float, float]:
    model.eval()
    guess = torch.cat([model(part).argmax(1) for part in clips.split(32)])
    both = (guess == labels).float().mean().item()
    shape = (guess // MOVES == labels // MOVES).float().mean().item()
    move = (guess % MOVES == labels % MOVES).float().mean().item()
    return both, shape, move


def main(cfg: Config) -> None:
    torch.manual_seed(cfg.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(1234 + cfg.seed)
    train = TensorDataset(*render_clips(800, cfg, gen))
    test = render_clips(200, cfg, gen)
    model = ClipNet(cfg)
    run_training(model, DataLoader(train, cfg.batch, shuffle=True, drop_last=True), cfg)
    both, shape, move = accuracy(model, *test)
    print(f"EVIDENCE accuracy {both:.3f} (shape {shape:.3f}, direction {move:.3f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for key in ("seed", "lr", "steps"):
        default = getattr(Config, key)
        parser.add_argument(f"--{key}", type=type(default), default=default)
    main(Config(**vars(parser.parse_args())))
