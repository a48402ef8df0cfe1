# SPDX-License-Identifier: Apache-2.0
"""A program to name where tests name an interpreter, if importing torch would take longer than the script.

`warm_python()` starts a server, an interpreter that imports torch, and returns the path of a small program. The tests of a ctest
share the server. The program hands its arguments, environment, folder and streams to the server, which forks a child. In the child
the script runs as __main__, with the folders of PYTHONPATH and the collector's sitecustomize, thus with the agent. The agent meets a
torch that is imported already, and leaves the trace that it leaves otherwise (test_warm.py). Tests of how the agent starts, and of
torch's import below it, name a real interpreter. So do the ranks of torchrun, unless that is `-m torch.distributed.run` of the program.
What a script spawns by multiprocessing is a real interpreter, too, unless the environment has WARM_SPAWNS. A script that trains by
DistributedDataParallel has no use for it: its reducer is freed with the GIL held, and joins a thread of gloo that may wait for the GIL.

What only a new process can have, as options of Python, a preloaded library or a sitecustomize of the user's, the program leaves to the
real interpreter. A sitecustomize that does its work when torch is there already, too, has the line `AFTER_TORCH = True`."""
import atexit
import fcntl
import functools
import hashlib
import importlib.util
import marshal
import os
import pathlib
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import types

PYTHON = os.environ.get("TRAINCHECK_TEST_PYTHON", sys.executable)

# at_start: what is read when a process starts, or when torch is imported.
SHARED = """
IN_SCRIPTS = "PYTHON", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHON_EXEC", "PYTHONUNBUFFERED"

def at_start(env):
    names = "LC_ALL", "LD_LIBRARY_PATH", "LD_PRELOAD", "OMP_NUM_THREADS"
    read = {k: v for k, v in env.items() if k in names or k[:6] == "PYTHON" and k not in IN_SCRIPTS}
    if read.get("LC_ALL") == "C":  # Python takes UTF-8, as without it
        del read["LC_ALL"]
    return read

def is_of_multiprocessing(code):
    return code.startswith(("from multiprocessing.spawn import ", "from multiprocessing.forkserver import "))
"""
exec(SHARED)  # the program below has it, too

# It imports no more than is there already: the program starts twice for each script that is traced.
CLIENT = """#!{python} -ISB
import _signal, _socket, marshal, os, sys

HERE, PYTHON, OF_SERVER = {here!r}, {python!r}, {of_server!r}
{shared}
def version_for_collector(args):
    try:
        with open(HERE + "/version") as file:
            return file.read()
    except OSError:
        import subprocess
        version = subprocess.run([PYTHON, *args], stdout=subprocess.PIPE, text=True).stdout.split("\\n")[0]
        with open(HERE + "/version.%d" % os.getpid(), "w") as file:
            file.write(version)
        os.rename(file.name, HERE + "/version")
        return version

def handed_over():
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > 2 and os.get_inheritable(fd):
                yield fd
        except OSError:  # that of the folder
            pass

def ask_server():
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(HERE + "/socket")
    fds = [0, 1, 2, *(handed_over() if is_spawned else ())]
    request = marshal.dumps([os.getpid(), os.getppid(), os.getcwd(), dict(os.environ), args, fds])
    streams = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    server.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    server.sendall(len(request).to_bytes(8, "little") + request)
    answer = b""
    while answer[-1:] != b"\\n":
        more = server.recv(64)
        if not more:
            sys.exit("warm: the server has ended; its output is in " + HERE)
        answer += more
    return int(answer)

args = sys.argv[1:]
if args[:2] == ["-I", "-S"]:  # the collector asks for version, program, shared library, which would take the place of this program
    print(version_for_collector(args), os.path.abspath(sys.argv[0]), "", sep="\\n")
    sys.exit()

def needs_new_process(folder):
    try:
        with open(os.path.join(folder, "sitecustomize.py")) as file:
            return not folder.endswith("/traincheck/inject") and "\\nAFTER_TORCH = True\\n" not in file.read()
    except OSError:
        return False

def runs_script_or_module():
    what = args[args[:1] == ["-u"]:]
    return what and (what[0][0] != "-" or what[0] == "-m")

folders = os.environ.get("PYTHONPATH", "").split(":")
is_spawned = any(map(is_of_multiprocessing, args))
if not (runs_script_or_module() or is_spawned) or any(map(needs_new_process, folders)) or at_start(os.environ) != OF_SERVER:
    os.execv(PYTHON, [PYTHON, *args])
code = ask_server()
if code < 0:
    if -code not in (9, 19):  # SIGKILL, SIGSTOP
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


# No file of the user's, and no function of __main__, for the agent.
SERVER = """
import sys
_, file, path, owner, *also = sys.argv
names = {"__name__": "warm", "__file__": file}
exec(compile(open(file).read(), "<warm>", "exec"), names)
names["serve"](path, int(owner), also)
"""


def is_served(folder):
    """Does a server listen there?"""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(folder / "socket")) == 0


def folder_for(key):
    """The folder of a server, and the process that it lives as long as: a ctest, whose tests share it, or else this process."""
    parent = os.getppid()
    if pathlib.Path(f"/proc/{parent}/comm").read_text(encoding="utf-8") != "ctest\n":
        return pathlib.Path(tempfile.mkdtemp(prefix="tc-warm-")), os.getpid()
    name = hashlib.sha256(repr(key).encode()).hexdigest()[:8]
    folder = pathlib.Path(tempfile.gettempdir(), f"tc-warm-{parent}-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid(), f"{folder} is another user's"
    return folder, parent


@functools.lru_cache(maxsize=None)
def start_server(below, python, also, env):
    full = {**os.environ, **dict(env)}
    full.pop("PYTHONPATH", None)  # a request brings its folders
    start = at_start(full)
    folder, owner = folder_for((__file__, below, python, also, sorted({**dict(env), **start}.items())))
    program = folder / "python"
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_served(folder):
            return program
        for name in "socket", "python", "python3":
            (folder / name).unlink(missing_ok=True)
        program.write_text(CLIENT.format(python=python, here=str(folder), of_server=start, shared=SHARED))
        program.chmod(0o755)
        (folder / "python3").symlink_to("python")
        with open(folder / "log", "w", encoding="utf-8") as log:
            command = [*below, python, "-B", "-c", SERVER, __file__, folder / "socket", str(owner), *also]
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=full)
        while not is_served(folder) and server.poll() is None:
            time.sleep(0.01)
        server.returncode = server.returncode or 0  # nobody waits for it
    return program


def warm_python(python=PYTHON, also=(), below=(), **env):
    """The program: its scripts find torch and the modules `also` imported. `env` is what `python` starts with besides, `below` a
    program that runs it."""
    return start_server(below, str(python), tuple(also), tuple(sorted(env.items())))


def warm_frameworks(python):
    """The program, for tests of scripts that train by the frameworks: those that are installed are imported."""
    names = "sklearn.datasets", "transformers.trainer", "lightning"
    also = [name for name in names if importlib.util.find_spec(name.partition(".")[0])]
    return warm_python(python, also, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")


# ---- the server ----

def read_request(connection):
    _, fds, _, _ = socket.recv_fds(connection, 1, 250)
    stream = connection.makefile("rb")
    size = int.from_bytes(stream.read(8), "little")
    return fds, size and marshal.loads(stream.read(size))


def write_at_once():
    """As with option -u, of which nothing of the output waits."""
    sys.stdout = open(1, "w", buffering=1, closefd=False)
    sys.stdout.reconfigure(write_through=True)


def have_parent(parent):
    """The processes of a job have one parent, which for this process is another."""
    here, real = os.getpid(), os.getppid
    os.getppid = lambda: parent if os.getpid() == here else real()


def take_over(fds, numbers):
    """The client's files, by the numbers that they have there."""
    aside = [fcntl.fcntl(fd, fcntl.F_DUPFD, 500) for fd in fds]
    for fd in fds:
        os.close(fd)
    for fd, number in zip(aside, numbers):
        os.dup2(fd, number)
        os.close(fd)


def enter(fds, program, client, parent, folder, env, argv, numbers):
    """Make this process the one that the client was asked to be, and return what it runs: a module, the file of a script, or code."""
    take_over(fds, numbers)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    if "TRAINCHECK_COLLECT" in env:  # the collector knows the client's process, and that it has no shared library
        settings = env["TRAINCHECK_COLLECT"].replace("\ninjected=1\n", "\n")
        os.environ["TRAINCHECK_COLLECT"] = settings.replace(f"\nmain_pid={client}\n", f"\nmain_pid={os.getpid()}\n")
    if env.get("WARM_SPAWNS"):
        import multiprocessing.spawn
        multiprocessing.spawn.set_executable(program)
    code = next(filter(is_of_multiprocessing, argv), None)
    is_rank = argv[0] == "-u"
    if is_rank or env.get("PYTHONUNBUFFERED"):
        write_at_once()
    if is_rank or code:
        have_parent(parent)
    if is_rank:
        del argv[0]
    if code:
        argv[:argv.index(code) + 1] = ["-c"]
    sys.argv = argv
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    module, script = argv.pop(1) if argv[0] == "-m" else None, argv[0]
    if module == "torch.distributed.run":
        os.environ["PYTHON_EXEC"] = program  # its ranks are children of the server, too
    if not module and not code:
        main.__file__ = script
    first = folder if module else os.path.dirname(os.path.abspath(script))
    sys.path[:1] = [first, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        pass
    return module, script, code


def without_our_frames(error):
    """As Python shows it: from the frame of the script on."""
    tb = error.__traceback__
    while tb and tb.tb_frame.f_code.co_filename != sys.argv[0]:
        tb = tb.tb_next
    return error.with_traceback(tb) if tb else error


def run(module, script, code):
    """Its exit status."""
    try:
        if code:
            exec(code, vars(sys.modules["__main__"]))
        elif module:
            runpy._run_module_as_main(module)
        else:
            with open(script, "rb") as file:
                exec(compile(file.read(), script, "exec"), vars(sys.modules["__main__"]))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xff
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        without_our_frames(error)
        sys.last_exc = sys.last_value = error
        sys.last_type, sys.last_traceback = type(error), error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def be_child(fds, program, request):
    import threading
    code = 1
    try:
        code = run(*enter(fds, program, *request))
        threading._shutdown()
        agent = sys.modules.get("_traincheck_agent")
        if agent:
            atexit.unregister(agent.ending)  # os._exit() does the same, and the collector's work is to be done once
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # to take torch down takes longer than most scripts


def attend(connection, program):
    """Run what a client asks for, and tell it how that ended. A client that is killed takes its script along."""
    import signal
    import threading
    fds, request = read_request(connection)
    if not request:  # it asked whether somebody listens
        return
    child = os.fork()
    if not child:
        connection.close()
        be_child(fds, program, request)
    def end_with_client():
        if not connection.recv(1):
            os.kill(child, signal.SIGKILL)

    threading.Thread(target=end_with_client, daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(f"{code}\n".encode())


def serve(path, owner, also):
    import gc
    import select
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(64)
    sys.dont_write_bytecode = False  # the next server compiles nothing of this
    import torch._dynamo  # noqa: F401  an optimizer would import it, in each child
    for module in also:
        importlib.import_module(module)
    sys.dont_write_bytecode = True
    gc.collect()
    gc.freeze()  # no child looks through what it shares with all
    n_children = 0
    while os.path.exists(f"/proc/{owner}"):
        if not select.select([server], [], [], 1)[0]:
            continue
        connection, _ = server.accept()
        while n_children and os.waitpid(-1, os.WNOHANG)[0]:
            n_children -= 1
        if not os.fork():
            try:
                server.close()
                attend(connection, os.path.join(os.path.dirname(path), "python"))
            finally:
                os._exit(0)
        n_children += 1
        connection.close()
    shutil.rmtree(os.path.dirname(path), True)
