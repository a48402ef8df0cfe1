# SPDX-License-Identifier: Apache-2.0
"""Sums of bytes as collect/agent/look/lanes.h makes them, in operators that any device of torch has: integers of 64 bits that wrap."""
import functools
import sys

LANES = 8
STRIPES = 64
CHUNK = LANES * STRIPES * 8  # bytes
GOLDEN = 0x9E3779B97F4A7C15
_LOW = (1 << 32) - 1
_SLICE = 16 << 20  # bytes that are worked on at once: the operators need six times as much for a moment
_LARGE = 1 << 20   # bytes of a tensor that is worked on alone


def _signed(x):
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def _mixed(x):
    """The finalizer of SplitMix64, of an int."""
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) % (1 << 64)
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) % (1 << 64)
    return x ^ x >> 31


def _shifted(x, n):
    """x >> n of unsigned numbers."""
    return x >> n & (1 << 64 - n) - 1


def _mix(x):
    x = (x ^ _shifted(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shifted(x, 27)) * _signed(0x94D049BB133111EB)
    return x ^ _shifted(x, 31)


@functools.lru_cache(maxsize=64)
def _keys(device):
    keys = [_signed(_mixed((i + 1) * GOLDEN % (1 << 64))) for i in range(STRIPES * LANES)]
    return sys.modules["torch"].tensor(keys, device=device).view(STRIPES, LANES)


@functools.lru_cache(maxsize=64)
def _plan(sizes, device):
    """Of the chunks of small tensors of these sizes, one tensor after the other: the number within its tensor, and whose it is."""
    torch = sys.modules["torch"]
    n_chunks = [-(-size // CHUNK) for size in sizes]
    numbers = [number for n in n_chunks for number in range(n)]
    owners = [owner for owner, n in enumerate(n_chunks) for _ in range(n)]
    return torch.tensor(numbers, device=device), torch.tensor(owners, device=device)


def _filled(many):
    """The bytes of all, with zeros after each up to whole chunks."""
    torch = sys.modules["torch"]
    zeros = torch.zeros(CHUNK, dtype=torch.uint8, device=many[0].device)
    return torch.cat([part for data in many for part in (data, zeros[:-data.numel() % CHUNK])])


def _chunks(data, numbers):
    """What each chunk of the bytes adds to a sum."""
    torch = sys.modules["torch"]
    words = data.view(torch.int64).view(-1, STRIPES, LANES)
    x = words ^ _keys(data.device)
    products = ((x & _LOW) * (x >> 32 & _LOW)).sum(1)
    beside = words.sum(1).view(-1, LANES // 2, 2).flip(2).reshape(-1, LANES)
    places = numbers.view(-1, 1) * LANES + torch.arange(1, LANES + 1, device=data.device)
    return _mix(products + beside + places * _signed(GOLDEN)).sum(1)


def sums_of_rows(rows):
    """The sum of each row of bytes."""
    torch = sys.modules["torch"]
    filled = torch.nn.functional.pad(rows, (0, -rows.shape[1] % CHUNK))
    n_chunks = filled.shape[1] // CHUNK
    numbers = torch.arange(n_chunks, device=rows.device).repeat(len(rows))
    return _chunks(filled.reshape(-1), numbers).view(-1, n_chunks).sum(1)


def chained(sums, size, seed):
    """Of each row of sums, of pieces of that size: a digest, where that of a piece is the seed of the next one."""
    digests = _signed(seed)
    for i in range(sums.shape[1]):
        seeds = digests + _signed((size + 1) * GOLDEN)
        digests = _mix(sums[:, i] + (_signed(_mixed(seeds % (1 << 64))) if i == 0 else _mix(seeds)))
    return digests


def _add_small(found, owners, group):
    """Add to found the sums of a group of small tensors, which are those of owners."""
    torch = sys.modules["torch"]
    device = group[0].device
    numbers, whose = _plan(tuple(one.numel() for one in group), device)
    sums_of_group = torch.zeros(len(group), dtype=torch.int64, device=device).index_add_(0, whose, _chunks(_filled(group), numbers))
    found[owners[0]:owners[-1] + 1] += sums_of_group


def _add_large(found, owner, data):
    torch = sys.modules["torch"]
    for at in range(0, data.numel(), _SLICE):
        piece = data[at:at + _SLICE]
        if piece.numel() % CHUNK or piece.storage_offset() % 8:
            piece = _filled([piece])
        first = at // CHUNK
        found[owner] += _chunks(piece, torch.arange(first, first + piece.numel() // CHUNK, device=data.device)).sum()


def sums(flat):
    """The sum of each of these tensors of bytes of one device, as one tensor there; none of them is empty."""
    torch = sys.modules["torch"]
    found = torch.zeros(len(flat), dtype=torch.int64, device=flat[0].device)
    owners, size = [], 0

    def flush():
        if owners:
            _add_small(found, owners, [flat[owner] for owner in owners])

    for owner, data in enumerate(flat):
        if data.numel() > _LARGE or size + data.numel() > _SLICE:
            flush()
            owners, size = [], 0
        if data.numel() > _LARGE:
            _add_large(found, owner, data)
        else:
            owners.append(owner)
            size += data.numel()
    flush()
    return found
