# SPDX-License-Identifier: Apache-2.0
"""The process: its record, its children, its end."""
import atexit
import os
import sys

import _traincheck_agent as agent
from . import install, relied, settings
from .owners import working_folder
from .signature import json_text
from .withheld import is_secret

_role = "main"
_rank = None
at_end = []  # what is called before the last records


def _packages():
    found = {}
    for name in ("torch", "numpy", "transformers", "accelerate", "lightning", "pytorch_lightning",
                 "peft", "deepspeed"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def rank_and_world():
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except Exception:
        pass
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None, None


def replicas():
    """A number for the ranks of this host that make the same steps; 0 where there is one rank alone."""
    _, world = rank_and_world()
    if (world or 1) < 2:
        return 0
    parts = [os.getppid(), world, *(os.environ.get(name) for name in
                                    ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"))]
    return agent.digest(repr(parts).encode(), None, ())


MASK = "***"


def without_user(argument):
    """https://user:password@host"""
    scheme, mark, rest = argument.partition("://")
    user, at, host = rest.partition("/")[0].rpartition("@")
    return scheme + mark + MASK + at + rest[len(user) + 1:] if at else argument


def _masked(argv):
    """Without the values of options whose name says that they are secret: --token X, --token=X, api.token=X."""
    masked, hide = [], False
    for argument in argv:
        name, equals, _ = argument.partition("=")
        if hide and not argument.startswith("--"):
            argument = MASK
        elif equals and is_secret(name):
            argument = name + "=" + MASK
        else:
            argument = without_user(argument)
        hide = not equals and name.startswith("-") and is_secret(name)
        masked.append(argument)
    return masked


def arguments():
    """Scripts put other things there, too."""
    argv = getattr(sys, "argv", None)
    how = settings.text("argv", "masked")
    if how == "none" or not isinstance(argv, (list, tuple)):
        return None
    argv = [str(argument) for argument in argv]
    return argv if how == "full" else _masked(argv)


def _record():
    rank, world = rank_and_world()
    record = {"type": "process", "schema": agent.SCHEMA, "pid": os.getpid(), "role": _role,
              "host": os.uname().nodename, "ppid": os.getppid(), "rank": rank,
              "world_size": world, "argv": arguments(), "cwd": working_folder(),
              "python": sys.version.split()[0], "packages": _packages(),
              "mode": settings.text("mode", "full"), "content": settings.text("content", "off"),
              "digest": agent.DIGEST}
    if settings.flag("operators") and settings.selected is None:
        record["operators"] = True
    if settings.number("sampling_interval") > 1:
        record["sampling"] = {"interval": settings.number("sampling_interval"),
                              "warm_up": settings.number("warm_up_steps")}
    if settings.number("budget"):
        record["sampling"] = {"budget": settings.number("budget") / 1e6, "warm_up": settings.number("warm_up_steps")}
    if settings.number("keep"):
        record["keep"] = settings.number("keep")
    if settings.text("job"):
        record["job"] = settings.text("job")
    if settings.text("digest"):
        record["invariants"] = settings.text("digest")
    if settings.selected is not None:
        record["selection"] = {"apis": sorted(settings.selected | set(install.roles)),
                               "roles": sorted(settings.many("role")),
                               "variables": settings.text("variables") == "1",
                               "settings": settings.text("settings") == "1",
                               "content": record["content"] != "off"}
    if settings.left_out:
        record["left_out"] = sorted(settings.left_out)
    for key, variable in (("local_rank", "LOCAL_RANK"), ("restart", "TORCHELASTIC_RESTART_COUNT")):
        if os.environ.get(variable, "").isdigit():
            record[key] = int(os.environ[variable])
    return {key: value for key, value in record.items() if value is not None}


def _file_name(record):
    rank = record.get("rank", "-")
    stem = f"trace_{record['host']}_r{rank}_p{record['pid']}"
    path = os.path.join(settings.output_dir, stem + ".jsonl.zst")
    n = 1
    while os.path.exists(path):  # a process id that was used before, or another image of it
        n += 1
        path = os.path.join(settings.output_dir, f"{stem}.{n}.jsonl.zst")
    return path


def open_trace():
    """Called when the first record is about to be written."""
    global _rank
    record = _record()
    _rank = record.get("rank")
    agent.open_file(_file_name(record), json_text(record))
    relied.tell()


def rank_known(_args=None, _result=None):
    global _rank
    rank, world = rank_and_world()
    if rank is not None and rank != _rank:
        _rank = rank
        agent.note("rank", f"{rank}/{world}")


def worker_started(_args=None, _result=None):
    global _role
    _role = "worker"
    agent.set_worker()


def _is_main():
    """Is this the process that the collector started itself?"""
    return settings.number("main_pid") == os.getpid()


def _leaving():
    wanted = settings.many("instrument") + settings.many("extra")
    if "torch" not in sys.modules and _is_main() and not wanted:
        agent.note("no-torch", "torch was not imported: nothing was traced")
    for path in settings.many("extra") if agent.has_file() else ():
        if install.is_missing(path):
            agent.failed(f"{path} of --apis is no function that was met")
    for tell in at_end:
        tell()
    agent.finish_windows()


def ending():
    """The last exit handler: the user's own have run.

    The flush lets other threads run: one of gloo's may wait for the interpreter to drop its last work, and one that
    still waits when the interpreter goes is ended by CPython in the midst of C++, which aborts the process."""
    _leaving()
    agent.flush()
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        agent.finish(130)  # Python ends such a process by the signal itself, past all that follows


def _exits(args, _result=None):
    _leaving()
    status = args[0] if args and isinstance(args[0], int) else -1
    agent.finish(status)
    if status == 0 and settings.flag("strict") and _is_main() and agent.has_losses():
        os._exit(125)  # past the collector, which would say so


def _spawning(args, _result=None):
    if sys._getframe(1).f_globals.get("__name__") != "subprocess":  # which may do it by this, and was told of
        _start(*args[:3])


def _replaced(args, _result=None):
    if len(args) > 1:
        _start(*args[:3])
    _leaving()
    agent.flush()


def _finds_agent(env):
    """Does a Python that is started with this environment find the agent?"""
    env = {os.fsdecode(key): os.fsdecode(value) for key, value in (os.environ if env is None else env).items()}
    return settings.VARIABLE in env and settings.text("inject") in env.get("PYTHONPATH", "").split(os.pathsep)


def _is_kept_off(arguments):
    """Is there an option of Python's that keeps it from PYTHONPATH or from site?"""
    arguments = iter(arguments)
    for argument in arguments:
        if argument[:1] != "-" or argument in ("-", "--", "-c", "-m"):
            return False
        if argument in ("-X", "-W"):
            next(arguments, None)
        elif argument[1] not in "-XW" and set(argument) & set("IES"):
            return True
    return False


def _compiles(arguments):
    """Is it the process in which torch compiles kernels? It runs nothing of the script's, under a PYTHONPATH of torch's."""
    return any("/torch/_inductor/compile_worker/" in a for a in arguments[1:2])


def _passes_by(program, arguments, env):
    arguments = [os.fsdecode(a) for a in arguments]
    name = os.path.basename(os.fsdecode(program or arguments[0]))
    return name.rstrip(".0123456789") == "python" and not _compiles(arguments) and \
        (not _finds_agent(env) or _is_kept_off(arguments[1:]))


def _start(program, arguments, env=None):
    """A program is about to be started with this environment, None for our own."""
    try:
        if not _passes_by(program, arguments, env):
            return
    except Exception:  # not what starts a program: the user will be told
        return
    agent.pass_by()
    if agent.has_file():
        agent.note("not-traced", f"a Python that process {os.getpid()} starts does not load the agent")


def subprocess_imported():
    """All of its functions end in one, which takes (self, arguments, program, ..., cwd, env, ...)."""
    def before(args, _result=None):
        if isinstance(args[1], (list, tuple)) and args[1]:
            _start(args[2], args[1], args[7])
    install.listen(sys.modules["subprocess"].Popen._execute_child, before=before)


def _environment():
    """Children must be traced as this process is."""
    folder = settings.text("inject")
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if folder and folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *paths])


def start():
    _environment()
    agent.join(settings.text("board", None), _is_main() and settings.flag("progress"))
    agent.detail(settings.number("stack"), settings.flag("stats"), bool(settings.many("model")),
                 settings.CONTENT.index(settings.text("content", "off")))
    agent.start(settings.output_dir, settings.number("buffer_size", 64 << 20), settings.number("keep"),
                settings.flag("drop"), _is_main() and not settings.flag("quiet"),
                settings.flag("injected"),
                settings.number("digest_budget"), settings.text("variables", "1") == "1",
                settings.text("settings", "1") == "1")
    atexit.register(agent.ending)
    os.register_at_fork(before=agent.before_fork, after_in_parent=agent.after_fork,
                        after_in_child=agent.forked)
    install.listen(os._exit, before=_exits)
    for name in ("execv", "execve"):
        install.listen(getattr(os, name), before=_replaced)
    install.listen(os.posix_spawn, before=_spawning)
