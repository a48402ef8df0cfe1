# SPDX-License-Identifier: Apache-2.0
"""A program to name where tests name an interpreter, if importing torch would take longer than the script.

`warm_python()` starts a server, an interpreter that imports torch, and returns the path of a small program. That program hands its
arguments, environment, folder and streams to the server, which forks a child. In the child the script runs as __main__, with the
folders of PYTHONPATH and the collector's sitecustomize, thus with the agent. The agent meets a torch that is imported already, and leaves
the trace that it leaves otherwise (test_warm.py). Tests of how the agent starts, and of torch's import below it, name a real interpreter.

What only a new process can have, as options of Python, a preloaded library or a sitecustomize of the user's, the program leaves to the
real interpreter. A sitecustomize that does its work when torch is there already, too, has the line `AFTER_TORCH = True`."""
import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

PYTHON = os.environ.get("TRAINCHECK_TEST_PYTHON", sys.executable)

# What is read when a process starts, or when torch is imported.
AT_START = """
def at_start(env):
    names = "LC_ALL", "LD_LIBRARY_PATH", "LD_PRELOAD", "OMP_NUM_THREADS"
    return {k: v for k, v in env.items() if k in names or k[:6] == "PYTHON" and k not in ("PYTHON", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
"""
exec(AT_START)  # the program below has it, too

CLIENT = """#!{python} -ISB
import json, os, signal, socket, subprocess, sys

HERE, PYTHON, OF_SERVER = {here!r}, {python!r}, {of_server!r}
{at_start}
def answer_of_collector(args):
    # Its question: version, program, shared library. The library would take the place of this program.
    done = subprocess.run([PYTHON, *args], stdout=subprocess.PIPE, text=True)
    print(done.stdout.split("\\n")[0], os.path.abspath(sys.argv[0]), "", sep="\\n")
    sys.exit(done.returncode)

def ask_server(args):
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.path.join(HERE, "socket"))
    request = [os.getpid(), os.getcwd(), dict(os.environ), args]
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps(request).encode() + b"\\n")
    answer = server.makefile().readline()
    if not answer:
        sys.exit("warm: the server has ended; its output is in " + HERE)
    return int(answer)

args = sys.argv[1:]
if args[:2] == ["-I", "-S"]:
    answer_of_collector(args)

def needs_new_process(folder):
    try:
        with open(os.path.join(folder, "sitecustomize.py")) as file:
            return not folder.endswith("/traincheck/inject") and "\\nAFTER_TORCH = True\\n" not in file.read()
    except OSError:
        return False

folders = os.environ.get("PYTHONPATH", "").split(":")
if not args or args[0][0] == "-" or any(map(needs_new_process, folders)) or at_start(os.environ) != OF_SERVER:
    os.execv(PYTHON, [PYTHON, *args])
code = ask_server(args)
if code < 0:
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


# No file of the user's, and no function of __main__, for the agent.
SERVER = """
import sys
_, file, path, *also = sys.argv
names = {"__name__": "warm", "__file__": file}
exec(compile(open(file).read(), "<warm>", "exec"), names)
names["serve"](path, also)
"""


@functools.lru_cache(maxsize=None)
def start_server(python, also, env):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tc-warm-"))
    full = {**os.environ, **dict(env)}
    program = folder / "python"
    program.write_text(CLIENT.format(python=python, here=str(folder), of_server=at_start(full), at_start=AT_START))
    program.chmod(0o755)
    (folder / "python3").symlink_to("python")
    with open(folder / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([python, "-B", "-c", SERVER, __file__, folder / "socket", *also], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=full)
    while not (folder / "socket").exists() and server.poll() is None:
        time.sleep(0.01)
    atexit.register(stop, server, folder)
    return program


def stop(server, folder):
    server.kill()
    server.wait()
    shutil.rmtree(folder, True)


def warm_python(python=PYTHON, also=(), **env):
    """The program: its scripts find torch and the modules `also` imported. `env` is what `python` starts with besides."""
    return start_server(str(python), tuple(also), tuple(sorted(env.items())))


# ---- the server ----

PR_SET_PDEATHSIG = 1


def read_request(connection):
    import socket
    _, fds, _, _ = socket.recv_fds(connection, 1, 3)
    return fds, json.loads(connection.makefile().readline())


def enter(fds, client, folder, env, argv):
    """Make this process the one that the client was asked to be, and return its module __main__."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    if "TRAINCHECK_COLLECT" in env:  # the collector knows the client's process, and that it has no shared library
        settings = env["TRAINCHECK_COLLECT"].replace("\ninjected=1\n", "\n")
        os.environ["TRAINCHECK_COLLECT"] = settings.replace(f"\nmain_pid={client}\n", f"\nmain_pid={os.getpid()}\n")
    sys.argv = argv
    sys.path[:1] = [os.path.dirname(os.path.abspath(argv[0])), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = argv[0]
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        pass
    return main


def without_our_frames(error):
    """As Python shows it: from the frame of the script on."""
    tb = error.__traceback__
    while tb and tb.tb_frame.f_code.co_filename != sys.argv[0]:
        tb = tb.tb_next
    return error.with_traceback(tb) if tb else error


def run_script(main):
    """Its exit status."""
    try:
        with open(main.__file__, "rb") as file:
            exec(compile(file.read(), main.__file__, "exec"), vars(main))
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


def be_child(fds, request):
    import threading
    code = 1
    try:
        code = run_script(enter(fds, *request))
        threading._shutdown()
        agent = sys.modules.get("_traincheck_agent")
        if agent:
            atexit.unregister(agent.ending)  # os._exit() does the same, and the collector's work is to be done once
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # to take torch down takes longer than most scripts


def attend(connection):
    """Run what a client asks for, and tell it how that ended. A client that is killed takes its script along."""
    import select
    import signal
    fds, request = read_request(connection)
    child = os.fork()
    if not child:
        connection.close()
        be_child(fds, request)
    ended = os.pidfd_open(child)
    if ended not in select.select([connection, ended], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(f"{code}\n".encode())


def serve(path, also):
    import ctypes
    import importlib
    import signal
    import socket
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a test that is killed takes its server along
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(16)
    import torch._dynamo  # noqa: F401  an optimizer would import it, in each child
    for module in also:
        importlib.import_module(module)
    n_children = 0
    while True:
        connection, _ = server.accept()
        while n_children and os.waitpid(-1, os.WNOHANG)[0]:
            n_children -= 1
        if not os.fork():
            try:
                server.close()
                attend(connection)
            finally:
                os._exit(0)
        n_children += 1
        connection.close()
