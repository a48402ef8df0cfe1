# SPDX-License-Identifier: Apache-2.0
"""Questions about tensors that lie elsewhere than on the CPU: all of a look are answered by operators on their device, and the
results of one device come in one copy."""
import math
import struct
import sys

from . import lanes
from .values import Shield, dispatches

# What carries the bits of a magnitude to the CPU: not all devices have numbers of double precision.
_NARROW = ("float16", "bfloat16", "float32")


def _is_readable(tensor):
    torch = sys.modules["torch"]
    return not (dispatches(type(tensor), torch) or tensor.device.type == "meta" or tensor.is_quantized
                or tensor.layout is not torch.strided or (tensor.is_cuda and torch.cuda.is_current_stream_capturing()))


def _bytes(tensor):
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(sys.modules["torch"].uint8)


def _magnitudes(tensors):
    """The bits of the largest magnitudes of tensors of one dtype, as integers of 64 bits."""
    torch = sys.modules["torch"]
    found = torch.stack(torch._foreach_norm(tensors, math.inf))
    if found.dtype is torch.float64:
        return found.view(torch.int64)
    return found.to(torch.float32).view(torch.int32).to(torch.int64)


def _number(bits, dtype):
    """The number of these bits; infinity also for what is none."""
    if dtype == "float64":
        number = struct.unpack("<d", struct.pack("<q", bits))[0]
    else:
        number = struct.unpack("<f", struct.pack("<i", bits))[0]
    return number if math.isfinite(number) else math.inf


def _to_host(parts):
    """The numbers of all parts, in one copy."""
    return sys.modules["torch"].cat(parts).tolist()


def _answer(questions, answers):
    """Put into answers what is asked of tensors of one device: [(index, tensor, wants a sum, wants a magnitude)]."""
    summed = [(i, tensor) for i, tensor, wants_sum, _ in questions if wants_sum]
    by_dtype = {}
    for i, tensor, _, wants_magnitude in questions:
        dtype = str(tensor.dtype)[6:]
        if wants_magnitude and (dtype in _NARROW or dtype == "float64"):
            by_dtype.setdefault(dtype, []).append((i, tensor))
    parts = [lanes.sums([_bytes(tensor) for _, tensor in summed])] if summed else []
    parts += [_magnitudes([tensor for _, tensor in of]) for of in by_dtype.values()]
    if not parts:
        return
    numbers = iter(_to_host(parts))
    for i, _ in summed:
        answers[i] = next(numbers), None
    for dtype, of in by_dtype.items():
        for i, _ in of:
            answers[i] = answers[i][0], _number(next(numbers), dtype)


def look(questions):
    """Answers for [(tensor, wants a sum, wants a magnitude)]: for each (sum of its bytes or None, largest magnitude or None)."""
    torch = sys.modules["torch"]
    answers, by_device = [(None, None)] * len(questions), {}
    with Shield(), torch.no_grad():
        for i, (tensor, wants_sum, wants_magnitude) in enumerate(questions):
            if _is_readable(tensor):
                by_device.setdefault(tensor.device, []).append((i, tensor.detach(), wants_sum, wants_magnitude))
        for of in by_device.values():
            try:
                _answer(of, answers)
            except (RuntimeError, NotImplementedError):  # no such operator there, or no memory left: they are copied
                pass
    return answers
