# SPDX-License-Identifier: Apache-2.0
"""Which parameters a tensor is a copy of, by its numbers: shards of ZeRO, master weights, what a script keeps of a model.

Such a tensor has no name, and belongs to no module. When a step begins it holds the numbers of parameters, one after the
other, the first and the last of them perhaps in part, with zeros between or behind them. What it holds in more digits than
the parameters is rounded to theirs first: a plan has no casts."""
from .plan_record import local


class Numbers:
    """Those of a model's parameters, as float32."""

    def __init__(self, tensors):
        """tensors: name -> parameter."""
        self.known = [(p, _bytes(local(p), local(p).dtype)) for p in tensors.values() if local(p).is_contiguous()]
        self.all = b"".join(raw for _, raw in self.known)

    def pieces(self, tensor):
        """[(parameter, offset, elements)] whose numbers those of the tensor are, in order, None as parameter of zeros. None
        if it is no copy, or if it cannot be told of which."""
        if not self.known or not tensor.is_floating_point() or not tensor.is_contiguous() or not tensor.count_nonzero():
            return None
        data = _bytes(tensor, local(self.known[0][0]).dtype)
        found = self._stretch(data) or self._one_by_one(data)
        return [(p, at // 4, size // 4) for p, at, size in found] if found else None

    def _stretch(self, data):
        """Parameters as they follow each other in the model, then zeros; None if several stretches have these numbers."""
        end = len(data)
        while end and (len(starts := _aligned(self.all, data[:end])) != 1) and data[end - 4:end] == bytes(4):
            end -= 4
        if not end or len(starts) != 1:
            return None
        found, at = [], 0
        for parameter, raw in self.known:
            low, high = max(starts[0], at), min(starts[0] + end, at + len(raw))
            if low < high:
                found.append((parameter, low - at, high - low))
            at += len(raw)
        return found + ([(None, 0, len(data) - end)] if end < len(data) else [])

    def _one_by_one(self, data):
        """Parameters in another order, as those of the groups of an optimizer."""
        found, at = [], 0
        while at < len(data):
            piece = self._next(data[at:], found[-1][0] if found else None)
            if piece is None:
                return None
            found.append(piece)
            at += piece[2]
        return found

    def _next(self, data, last):
        """(parameter, first byte of it, bytes) of what begins there. Of equal parameters, as those of norms before the first
        step, the one after the last that was found."""
        found = [(p, 0, len(raw)) for p, raw in self.known if raw and data.startswith(raw)]
        if not found:
            found = [(p, 0, len(data)) for p, raw in self.known if raw.startswith(data)]
        if not found and last is None:
            found = [(p, at, min(len(raw) - at, len(data))) for p, raw in self.known for at in _aligned(raw, data[:16])
                     if data.startswith(raw[at:at + len(data)])]
        if len(found) > 1:
            after = [id(p) for (before, _), (p, _) in zip(self.known, self.known[1:]) if before is last]
            found = [piece for piece in found if id(piece[0]) in after]
        zeros = (len(data) - len(data.lstrip(b"\0"))) // 4 * 4
        if not found and zeros:
            return None, 0, zeros
        return found[0] if len(found) == 1 else None


def places(flat, start, shape, at, n, place):
    """[(view of flat, its PLACE)]: flat holds from `start` on n elements, from number `at` on, of a shard of this shape, whose
    PLACE this is."""
    if place.get("at") == [0] * len(shape) and place["global"] == shape:
        return [(flat[start:start + n], {"global": shape, "flat": at})]
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    found, zero = [], flat.storage_offset() + start - at  # where element 0 of the shard would be
    for here, sizes, there in place["pieces"] if "pieces" in place else [([0] * len(shape), shape, place["at"])]:
        for first, block in _blocks(shape, at, n):
            low = [max(a, b) for a, b in zip(first, here)]
            high = [min(a + k, b + size) for a, k, b, size in zip(first, block, here, sizes)]
            if all(a < b for a, b in zip(low, high)):
                view = flat.as_strided([b - a for a, b in zip(low, high)], strides, zero + sum(a * k for a, k in zip(low, strides)))
                found.append((view, {"global": place["global"], "at": [a - b + c for a, b, c in zip(low, here, there)]}))
    return found


def _blocks(shape, at, n):
    """The elements [at, at + n) of a tensor of this shape, as blocks: (first coordinates, sizes)."""
    if len(shape) < 2:
        return [([at], [n])] if shape else [([], [])]
    found, end, row = [], at + n, 1
    for size in shape[1:]:
        row *= size
    while at < end:
        index, within = divmod(at, row)
        rows = (end - at) // row if not within else 0
        if rows:
            found.append(([index] + [0] * (len(shape) - 1), [rows] + shape[1:]))
        else:
            found += [([index] + first, [1] + sizes) for first, sizes in _blocks(shape[1:], within, min(row - within, end - at))]
        at += rows * row or min(row - within, end - at)
    return found


def _bytes(tensor, dtype):
    return tensor.detach().reshape(-1).to(dtype).float().numpy().tobytes()


def _aligned(raw, part):
    """Where the part begins in it: the first two places, as the second is one too many."""
    found, at = [], raw.find(part)
    while at >= 0 and len(found) < 2:
        if at % 4 == 0:
            found.append(at)
        at = raw.find(part, at + 1)
    return found
