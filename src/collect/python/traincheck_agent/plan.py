# SPDX-License-Identifier: Apache-2.0
"""collect --plan: write the plan of each rank instead of a trace.

With --plan-world a process that has imported torch forks one child for each rank; without it every process of the job
that trains writes the plan of its own rank."""
import atexit
import importlib.util
import json
import os
import re
import sys
import time

from . import plan_fake, plan_like, plan_mail, plan_step, settings

_OLDEST = (2, 5)
_FAILED = 125


def _tell(text):
    """Also with --quiet: a run that makes no plan says why."""
    sys.stderr.write(f"traincheck-collect: {text}\n")
    sys.stderr.flush()


def _say(text):
    if not settings.flag("quiet"):
        _tell(text)


class Job:
    """What a capture tells whoever waits for it."""

    def __init__(self, pipe=None, is_fake=False, is_wanted=False):
        self.pipe, self.is_fake, self.is_wanted, self.notes = pipe, is_fake, is_wanted, []
        self.began = time.monotonic()

    def place(self):
        dist = sys.modules["torch.distributed"]
        if dist.is_available() and dist.is_initialized():
            return dist.get_rank(), dist.get_world_size()
        return 0, 1

    def _leave(self, status, told):
        if self.pipe is not None:
            os.write(self.pipe, json.dumps(told).encode()[:4000])
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(status)

    def done(self, head, n_ops):
        told = {"rank": head["rank"], "world": head["world"], "ops": n_ops, "step": head["step"],
                "notes": head["notes"]}
        if self.pipe is None:
            _say(f"plan of rank {head['rank']} of {head['world']}: step {head['step']}, {n_ops} operators, in "
                 f"{settings.text('plan')}; the script ends here")
            for note in head["notes"]:
                _say(f"note: {note}")
        self._leave(0, told)

    def fail(self, why):
        if self.pipe is None:
            _tell(why)
        self._leave(_FAILED, {"error": why})


def _torch():
    """torch, if plans can be captured with it; else the process ends."""
    try:
        import torch
    except ImportError as error:
        _end(f"--plan: {error}")
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < _OLDEST:
        _end(f"--plan needs torch {_OLDEST[0]}.{_OLDEST[1]} or newer; this is {torch.__version__}")
    try:
        import torch.distributed
        import torch.testing._internal.distributed.fake_pg  # noqa: F401
        from torch.utils._python_dispatch import TorchDispatchMode  # noqa: F401
    except ImportError as error:
        _end(f"--plan: {error}")
    return torch


def _end(why):
    _tell(why)
    os._exit(_FAILED)


def _capture(job):
    plan_step.Capture(settings.text("plan"), settings.number("plan_step"), settings.text("plan_layout"), job).start()


# ---- the ranks of a job that is not there

class _Ranks:
    """Forks a child for each rank, a few at a time, and waits for them."""

    def __init__(self, ranks, world, jobs, mail):
        self.ranks, self.world, self.jobs, self.mail = ranks, world, jobs, mail
        self.running, self.told, self.began = {}, [], time.monotonic()

    def run(self):
        """Returns in the children only: (rank, pipe)."""
        waiting = list(self.ranks)
        while waiting or self.running:
            while waiting and len(self.running) < self.jobs:
                child = self._fork(waiting.pop(0))
                if child is not None:
                    return child
            self._wait()
        self.mail.close()
        self._summary()
        os._exit(0)

    def _fork(self, rank):
        read, write = os.pipe()
        output = None if settings.flag("verbose") or rank == self.ranks[0] else os.memfd_create("output")
        pid = os.fork()
        if pid:
            os.close(write)
            self.running[pid] = (rank, read, output)
            return None
        os.close(read)
        for _, other, _ in self.running.values():
            os.close(other)
        if output is not None:  # shown only if the rank fails
            os.dup2(output, 1)
            os.dup2(output, 2)
        return rank, write

    def _wait(self):
        pid, state = os.wait()
        if pid not in self.running:
            return
        rank, read, output = self.running.pop(pid)
        told = os.read(read, 1 << 16)
        os.close(read)
        told = json.loads(told) if told else {}
        status = os.waitstatus_to_exitcode(state)
        if "ops" in told and told["world"] != self.world:
            told = {"error": f"the script is a job of {told['world']}: it calls no init_process_group, or a smaller one"}
        if status or "ops" not in told:
            self._failed(rank, status, told, output)
        if output is not None:
            os.close(output)
        self.told.append(told)
        self._progress(rank)

    def _failed(self, rank, status, told, output):
        import signal
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        if output is not None:
            text = os.pread(output, 1 << 20, max(0, os.fstat(output).st_size - (1 << 16)))
            sys.stderr.write(text.decode(errors="replace"))
        self._remove_plans()
        self.mail.close()
        why = told.get("error") or (f"the script ended by signal {-status}" if status < 0 else
                                    f"the script ended with status {status} and no plan")
        _tell(f"rank {rank} of {self.world}: {why}")
        os._exit(status if status > 0 else 128 - status if status < 0 else _FAILED)

    def _remove_plans(self):
        """Those of the ranks that were done: a part of a job is no plan of it."""
        for pid in self.running:
            os.waitpid(pid, 0)
        for rank in self.ranks:
            for suffix in ("", ".part"):
                try:
                    os.unlink(os.path.join(settings.text("plan"), f"plan-rank{rank:05d}.jsonl{suffix}"))
                except FileNotFoundError:
                    pass

    def _progress(self, rank):
        if sys.stderr.isatty() and not settings.flag("quiet") and len(self.ranks) > 1:
            end = "\n" if len(self.told) == len(self.ranks) else "\r"
            sys.stderr.write(f"traincheck-collect: rank {rank}: {len(self.told)} of {len(self.ranks)} ranks, "
                             f"{time.monotonic() - self.began:.0f} s{end}")
            sys.stderr.flush()

    def _like(self):
        if len(self.ranks) == self.world:
            return 0
        try:
            return plan_like.write(settings.text("plan"), self.ranks, self.world)
        except plan_like.LikeError as error:
            _end(str(error))

    def _summary(self):
        liked = self._like()
        n, ops = len(self.told), [told["ops"] for told in self.told]
        spread = f"{min(ops)} to {max(ops)}" if min(ops) != max(ops) else str(ops[0])
        _say(f"{n} plan{'s' if n > 1 else ''} of step {self.told[0]['step']}, {spread} operators each, in "
             f"{settings.text('plan')}: {n} of {self.world} ranks, {time.monotonic() - self.began:.1f} s")
        if liked:
            _say(f"note: {liked} ranks are taken to run the programs of these {n}, on the same data")
        for note in dict.fromkeys(note for told in self.told for note in told["notes"]):
            _say(f"note: {note}")


def _wanted_ranks(world):
    text = settings.text("plan_ranks")
    if not text:
        return list(range(world))
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return sorted(set(found))


def _fork_ranks(world):
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _torch()
    plan_fake.prepare()
    mail = plan_mail.Mail()
    try:
        rank, pipe = _Ranks(_wanted_ranks(world), world, settings.number("plan_jobs", 1), mail).run()
    except KeyboardInterrupt:
        mail.close()
        os._exit(130)
    plan_fake.environment(rank, world)
    plan_fake.install(rank, world, mail)
    _capture(Job(pipe, is_fake=True, is_wanted=True))


def torch_imported():
    """In a process of a real job."""
    _torch()
    _capture(Job(is_wanted=settings.number("main_pid") == os.getpid()))


class _Finder:
    """Tells when torch has been imported."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                torch_imported()
            spec.loader.exec_module = exec_module
        return spec


def _at_exit():
    """Of the script's own process: a run without torch makes no plan."""
    if "torch" not in sys.modules and getattr(sys, "last_type", None) is None:
        _end("--plan: the script ended without importing torch: there is no plan")


def _await_torch():
    """torch may be there already: a sitecustomize or a .pth file has imported it."""
    torch = sys.modules.get("torch")
    if torch is None:
        sys.meta_path.insert(0, _Finder)
        if settings.number("main_pid") == os.getpid():
            atexit.register(_at_exit)
    elif getattr(torch.__spec__, "_initializing", False):
        _end("--plan: torch is being imported before the script starts: what imports it (a sitecustomize, a .pth file) "
             "must not start the capture")
    else:
        torch_imported()


def start():
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # compiled code has no operators to be seen
    world = settings.number("plan_world")
    if not world:
        _await_torch()
    elif settings.number("main_pid") == os.getpid():
        _fork_ranks(world)
