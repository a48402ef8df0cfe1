# SPDX-License-Identifier: Apache-2.0
"""Questions about tensors that lie elsewhere than on the CPU: all of a look are answered by operators on their device, and the
answers of one device come in one copy."""
import contextlib
import functools
import math
import sys

import _traincheck_agent as agent
from . import lanes
from .values import Shield, dispatches, is_captured

# As enum tc_what of collect/agent/look/question.h.
DIGEST, MAGNITUDE, FINITE, BYTES, STRIPES, ROWS, SAMPLE, FIRST, SAME, SUMMARY, RANGE = range(11)

_N_STRIPES, _STRIPE = 16, 4096  # as in collect/agent/look/digest.h
_MAX_ROWS_WHOLE = 256 << 10     # as in collect/agent/look/question.h
_N_PIECES, _PIECE = 4, 256
_N_SAMPLE, _MAX_SPAN = 256, 1 << 20  # as in collect/agent/look/summary.h
_ALIGNMENT = 8


def _is_readable(tensor):
    torch = sys.modules["torch"]
    return not (dispatches(type(tensor), torch) or tensor.device.type == "meta" or tensor.is_quantized
                or tensor.layout is not torch.strided or is_captured(tensor))


def _flat(tensor):
    """Of one element any stride counts as one piece, but not for views of another dtype."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat if flat.stride(0) == 1 else flat.as_strided(flat.shape, (1,))


def _bytes(tensor):
    return _flat(tensor).view(sys.modules["torch"].uint8)


def _bits(tensor):
    """The elements as integers of their size."""
    torch = sys.modules["torch"]
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return _flat(tensor).view(integers.get(tensor.element_size(), torch.uint8))


def _numbers(found):
    """Bytes of floating point numbers: not all devices have such of double precision, and others need none."""
    torch = sys.modules["torch"]
    return (found if found.dtype is torch.float64 else found.to(torch.float32)).view(torch.uint8)


@functools.lru_cache(maxsize=64)
def _zeros(device):
    torch = sys.modules["torch"]
    return torch.zeros(_ALIGNMENT, dtype=torch.uint8, device=device)


# ---- operators that not all devices have ----

_lacking = set()  # (name, kind of device, dtype)


def _unless_lacking(name, operator, instead, tensor):
    """By an operator, or by others that say the same: a device that lacks it would have to be waited for."""
    key = name, tensor.device.type, tensor.dtype
    if key not in _lacking:
        try:
            return operator(tensor)
        except (RuntimeError, NotImplementedError, TypeError):
            found = instead(tensor)  # not lacking where this fails, too, as for want of memory
            _lacking.add(key)
            return found
    return instead(tensor)


def _last_left(flat, is_before):
    """The first of all, by as many comparisons as their number has digits. One that is no number is before all."""
    torch = sys.modules["torch"]
    while flat.numel() > 1:
        half = (flat.numel() + 1) // 2
        a, b = flat[:half], flat[-half:]
        flat = torch.where(is_before(a, b) | (a != a), a, b)
    return flat[0]


def _bounds(tensor):
    """The smallest and the largest."""
    def by_halves(apart):
        flat = apart.reshape(-1)
        return _last_left(flat, lambda a, b: a < b), _last_left(flat, lambda a, b: a > b)
    return _unless_lacking("aminmax", sys.modules["torch"].aminmax, by_halves, tensor)


def _n_different(flat, low):
    """Where they span less than _MAX_SPAN: else any number."""
    def by_marks(flat):
        torch = sys.modules["torch"]
        marks = torch.zeros(_MAX_SPAN, dtype=torch.uint8, device=flat.device)
        places = flat - low
        return marks.index_fill_(0, torch.where((places >= 0) & (places < _MAX_SPAN), places, 0), 1).sum()

    def by_order(flat):
        ordered = flat.sort()[0]
        return (ordered[1:] != ordered[:-1]).sum() + 1
    return _unless_lacking("sort", by_order, by_marks, flat)


# ---- one answer: tensors of bytes, one after the other ----

def _finite(tensor):
    """The smallest and the largest."""
    return [_numbers(sys.modules["torch"].stack(_bounds(tensor)))]


def _stripes(tensor, seed):
    torch, data = sys.modules["torch"], _bytes(tensor)
    size = data.numel()
    starts = [i * (size // _N_STRIPES) for i in range(_N_STRIPES)] + [size - _STRIPE]
    pieces = torch.stack([data[at:at + _STRIPE] for at in starts])
    return [lanes.chained(lanes.sums_of_rows(pieces).view(1, -1), _STRIPE, seed).view(torch.uint8)]


def _rows(tensor):
    """The lower halves of their digests."""
    torch = sys.modules["torch"]
    rows = _bytes(tensor).view(tensor.shape[0], -1)
    size = rows.shape[1]
    if rows.numel() > _MAX_ROWS_WHOLE and size > _N_PIECES * _PIECE:
        starts = [(size - _PIECE) * i // (_N_PIECES - 1) for i in range(_N_PIECES)]
        pieces = torch.stack([rows[:, at:at + _PIECE] for at in starts], 1).view(-1, _PIECE)
        digests = lanes.chained(lanes.sums_of_rows(pieces).view(-1, _N_PIECES), _PIECE, 0)
    else:
        digests = lanes.chained(lanes.sums_of_rows(rows).view(-1, 1), size, 0)
    return [_bytes(digests.view(torch.int32)[::2])]


def _column(elements, at):
    """Whether a column shows one element alone, and the first that it shows."""
    torch = sys.modules["torch"]
    shown = elements.select(-1, at).reshape(-1)
    return [(shown == shown[0]).all().to(torch.int64), shown[0]]


def _summary(tensor):
    """As enum tc_summed of collect/agent/look/question.h."""
    torch = sys.modules["torch"]
    elements = tensor.to(torch.int64)
    flat = elements.reshape(-1)
    low, high = _bounds(flat)
    different = _n_different(flat, low)
    # the span as an unsigned number: below zero where it takes 64 bits
    span = high - low
    counted = torch.where((span >= 0) & (span < _MAX_SPAN), different, -1)
    found = [low, high, (flat < 0).sum(), (flat == 0).sum(), (flat == 1).sum(), counted]
    if elements.dim() > 1:
        found += _column(elements, 0) + _column(elements, -1)
    return [torch.stack(found).view(torch.uint8)]


def _sample(tensor):
    torch = sys.modules["torch"]
    data = _flat(tensor)
    n = data.numel()
    places = torch.arange(min(n, _N_SAMPLE), device=data.device)
    if n >= _N_SAMPLE:  # as tc_scaled_at() of summary.h
        scattered = places * 0x9E3779B1 >> 16 & 0xFFFF
        places = places * n // _N_SAMPLE + (scattered * (n // _N_SAMPLE) >> 16)
    return [data[places].view(torch.uint8)]


def _first(tensor):
    torch = sys.modules["torch"]
    bits = _bits(tensor)
    wide = torch.int64 if bits.dtype is torch.int64 else torch.int32
    return [(bits != bits[0]).any().to(wide).view(1).view(torch.uint8), bits[:1].view(torch.uint8)]


def _same(tensor, other):
    return [(_bits(tensor) != _bits(other)).any().view(1).view(sys.modules["torch"].uint8)]


def _whole(tensor):
    return [_bytes(tensor)]


_SINGLE = {FINITE: _finite, BYTES: _whole, ROWS: _rows, SAMPLE: _sample, FIRST: _first, SUMMARY: _summary, RANGE: _whole}


# ---- those of a look ----

class _Answers:
    """What one device sends: bytes, and where in them each answer begins."""

    def __init__(self, device):
        self.places, self.parts, self.size, self.device = {}, [], 0, device

    def add(self, parts):
        """Append; returns where they begin."""
        at = self.size
        for part in parts:
            self.parts.append(part)
            self.size += part.numel()
        rest = -self.size % _ALIGNMENT
        if rest:
            self.parts.append(_zeros(self.device)[:rest])
            self.size += rest
        return at

    def add_array(self, numbers, data, item_size):
        """Of many questions, whose answers have one size."""
        at = self.add([data])
        for i, number in enumerate(numbers):
            self.places[number] = at + i * item_size


def _digests(answers, questions):
    if questions:
        sums = lanes.sums([_bytes(tensor) for _, _, tensor, _, _ in questions])
        answers.add_array([q[0] for q in questions], sums.view(sys.modules["torch"].uint8), 8)


def _magnitudes(answers, questions):
    torch = sys.modules["torch"]
    by_dtype = {}
    for number, _, tensor, _, _ in questions:
        by_dtype.setdefault(tensor.dtype, []).append((number, tensor))
    for dtype, of in by_dtype.items():
        found = torch.stack(torch._foreach_norm([tensor for _, tensor in of], math.inf))
        answers.add_array([number for number, _ in of], _numbers(found), 8 if dtype is torch.float64 else 4)


# ---- the way to the CPU ----

def _event(device):
    """A new event of the device, or None where it has none for its streams: then one waits for the copy."""
    module = getattr(sys.modules["torch"], device.type, None)
    has_events = device.type != "cpu" and hasattr(module, "Event") and hasattr(module, "current_stream")
    return module.Event() if has_events else None


def _to_host(answers):
    """The bytes of all answers in one copy, which is on its way: (tensor on the CPU, the event behind it or None)."""
    torch = sys.modules["torch"]
    data, event = torch.cat(answers.parts), _event(answers.device)
    if event is None:
        return data.cpu(), None
    host = torch.empty(data.shape, dtype=torch.uint8, device="cpu", pin_memory=True)
    host.copy_(data, non_blocking=True)
    event.record(getattr(torch, answers.device.type).current_stream(answers.device))
    return host, event


def has_come(event):
    return event.query()


def wait_for(event):
    event.synchronize()
    return True


# ---- the kernel of what torch calls "cuda" (collect/agent/look/cuda.h) ----

def _is_hip():
    return getattr(sys.modules["torch"].version, "hip", None) is not None


def _path(text):
    import pathlib  # only jobs on a GPU need it, and ctypes
    return pathlib.Path(text)


def _site():
    return _path(sys.modules["torch"].__file__).resolve().parents[1]


def _loaded(name):
    """Paths of libraries of that name which the process has."""
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if f"/{name}" in line}
        return sorted(path for path in paths if _path(path).name.startswith(name))
    return []


def driver_paths():
    """(is it HIP's?, where it is). HIP's streams are those of one copy of its library: torch's, which is loaded, or none."""
    return (True, _loaded("libamdhip64.so")) if _is_hip() else (False, ["libcuda.so.1"])


def architecture(index):
    """The name that HIP has for a device, with its features."""
    return sys.modules["torch"].cuda.get_device_properties(index).gcnArchName


def _hiprtc_paths():
    """Of torch's release, as the code is for its driver; in old ones it is a part of that."""
    release = (sys.modules["torch"].version.hip or "").split(".")[0]
    names = ["libhiprtc.so", f"libhiprtc.so.{release}"]
    near = [_path(path).parent for path in _loaded("libamdhip64.so")]
    folders = [*near, _site() / "torch" / "lib", *sorted(_site().glob("_rocm_sdk_*/lib"))]
    beside = [str(folder / name) for folder in folders for name in reversed(names) if (folder / name).exists()]
    return _loaded("libhiprtc.so") + beside + names[::-1] + _loaded("libamdhip64.so")


def _nvrtc_paths():
    """In packages beside torch, or known to the system. Those load a second library by its name, which the loader does not find beside
    them: it is loaded here. Torch's own come first: it loads what is loaded, by name, and an older one may not know the device."""
    version = (sys.modules["torch"].version.cuda or "").split(".")[0]
    names = [f"libnvrtc.so.{version}"] if version in ("12", "13") else ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]
    paths = [path for name in names for folder in ("nvidia/*/lib", "torch/lib") for path in sorted(_site().glob(f"{folder}/{name}"))]
    import ctypes
    for builtins in sorted({path for found in paths for path in found.parent.glob("libnvrtc-builtins.so.*")}):
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(builtins))
    return [str(path) for path in paths] + names


def compiler_paths():
    """Where the compiler of kernels may be."""
    return _hiprtc_paths() if _is_hip() else _nvrtc_paths()


def stream_of(index, tensors):
    """The current stream of a device of CUDA, as its driver has it. Memory that was allocated for another stream is not given away
    before these tensors have been read.

    Where torch.compile captures graphs of its own, what it returns comes from a pool of another stream. torch refuses to capture the next
    one while that pool waits for anybody, so that nothing is said there: only graphs write to it again, on the stream of the reader."""
    torch = sys.modules["torch"]
    stream = torch.cuda.current_stream(index)
    if "torch._inductor.cudagraph_trees" not in sys.modules:
        with Shield():
            for tensor in tensors:
                tensor.record_stream(stream)
    return stream.cuda_stream


# ---- streams ----

_left = {}  # event behind what was put on a stream, by the device and the stream


def leave_stream(args, _result=None):
    """Another stream, or the one that was before, becomes the current one of a device."""
    device = getattr(args[0], "device", None)  # None stands for no stream
    module = getattr(sys.modules["torch"], device.type, None) if device is not None else None
    if hasattr(module, "current_stream") and hasattr(module, "Event") and agent.leave_stream():
        stream = module.current_stream(device)
        _left[device, stream] = stream.record_event()


def join_streams():
    """What is put on the current streams from now on comes behind what was put on those that the script has left."""
    torch = sys.modules["torch"]
    while _left:
        (device, stream), event = _left.popitem()
        current = getattr(torch, device.type).current_stream(device)
        if current != stream:
            current.wait_event(event)


# ---- looks ----

def _answer(questions, device):
    """The bytes on their way to the CPU, and the places of the answers to questions of one device:
    [(number, what, tensor, other, seed)]."""
    answers = _Answers(device)
    _digests(answers, [q for q in questions if q[1] == DIGEST])
    _magnitudes(answers, [q for q in questions if q[1] == MAGNITUDE])
    for number, what, tensor, other, seed in questions:
        if what == SAME:
            answers.places[number] = answers.add(_same(tensor, other))
        elif what == STRIPES:
            answers.places[number] = answers.add(_stripes(tensor, seed))
        elif what in _SINGLE:
            answers.places[number] = answers.add(_SINGLE[what](tensor))
    return _to_host(answers), answers.places


def _answer_by_copies(questions):
    """The same where an operator is missing, or memory runs out."""
    here = [(number, what, tensor.cpu(), other if other is None else other.cpu(), seed) for number, what, tensor, other, seed in questions]
    return _answer(here, sys.modules["torch"].device("cpu"))


def look(questions):
    """Answers to [(what, tensor, other tensor or None, seed)]: of each the place, (number of a transfer, offset) or None where it cannot
    be answered; and the transfers, one of each device: (tensor on the CPU, its address, its size, the event behind it or None, the
    driver's own pointer to that event or 0)."""
    torch = sys.modules["torch"]
    found, transfers, by_device = [None] * len(questions), [], {}
    with Shield(), torch.no_grad():
        for number, (what, tensor, other, seed) in enumerate(questions):
            if _is_readable(tensor) and (other is None or _is_readable(other)):
                by_device.setdefault(tensor.device, []).append(
                    (number, what, tensor.detach(), other if other is None else other.detach(), seed))
        for device, of in by_device.items():
            try:
                (host, event), places = _answer(of, device)
            except (RuntimeError, NotImplementedError, TypeError):
                (host, event), places = _answer_by_copies(of)
            for number, at in places.items():
                found[number] = len(transfers), at
            transfers.append((host, host.data_ptr(), host.numel(), event, getattr(event, "cuda_event", 0)))
    return found, transfers
