# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine: munged, slurmctld and slurmd of Debian, in a folder, started and stopped by a test."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "squeue")
PATIENCE = 60
CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={other_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def program(name):
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")))


def missing():
    """The programs that are not there."""
    return [name for name in NEEDED if not program(name)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Loopback:
    """Runs between start() and stop(); `environment` is what commands of Slurm need."""

    def __init__(self, folder, more=""):
        """more: lines of slurm.conf."""
        self.folder, self.more, self.processes = pathlib.Path(folder), more, []
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def _daemon(self, *command):
        log = (self.folder / f"{command[0]}.out").open("wb")
        self.processes.append(subprocess.Popen([program(command[0]), *map(str, command[1:])], stdout=log, stderr=log,
                                               stdin=subprocess.DEVNULL, env={**os.environ, **self.environment}))
        log.close()

    def start(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONF.format(
            host=host, port=free_port(), other_port=free_port(), folder=self.folder, cpus=os.cpu_count(),
            user=subprocess.check_output(["id", "-un"], text=True).strip()) + self.more)
        self._daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", f"--key-file={key}",
                     f"--pid-file={self.folder}/munged.pid", f"--seed-file={self.folder}/munged.seed", "--syslog")
        self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", host)
        self._wait(lambda: "idle" in self.command("sinfo", "-h", "-o", "%T"), "the node")

    def command(self, *arguments):
        return subprocess.run([program(arguments[0]), *arguments[1:]], capture_output=True, text=True,
                              env={**os.environ, **self.environment}).stdout

    def _wait(self, is_there, what):
        end = time.monotonic() + PATIENCE
        while not is_there():
            if time.monotonic() > end:
                logs = "".join(path.read_text(errors="replace")[-2000:] for path in sorted(self.folder.glob("*.[lo][ou][gt]")))
                self.stop()
                raise AssertionError(f"{what} does not come up:\n{logs}")
            time.sleep(0.1)

    def stop(self):
        """Jobs end first: their slurmstepd would outlive a slurmd that is gone."""
        end = time.monotonic() + PATIENCE / 2
        while self.command("squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
