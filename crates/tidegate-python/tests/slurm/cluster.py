"""A Slurm of one node, from unpacked packages of Debian's, in a directory of its own."""

import contextlib
import os
import pathlib
import secrets
import socket
import subprocess
import tempfile
import time

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket
CredType=cred/munge
PluginDir={libraries}/slurm-wlm
PlugStackConfig=/dev/null
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmctldLogFile={work}/slurmctld.log
SlurmdLogFile={work}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=sched_interval=1,defer=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=120 State=UP OverSubscribe=FORCE:4
"""


@contextlib.contextmanager
def slurm(root: pathlib.Path):
    """Starts Slurm from the packages in ``root``; the environment of its commands. Ends it at last."""
    with (
        tempfile.TemporaryDirectory(prefix="tidegate-slurm-") as work,
        contextlib.ExitStack() as stack,
    ):
        work = pathlib.Path(work)
        for folder in ("state", "spool"):
            (work / folder).mkdir()
        environment = _configure(root, work)

        def start(*command):
            log = stack.enter_context(open(work / f"{pathlib.Path(command[0]).name}.out", "w"))
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
            stack.callback(_end, process)
            return process

        start(
            *(root / "usr/sbin/munged", "--foreground", "--key-file", work / "munge.key"),
            *("--socket", work / "munge.socket", "--pid-file", work / "munged.pid"),
            *("--log-file", work / "munged.log", "--seed-file", work / "munge.seed", "--force"),
        )
        _wait(lambda: (work / "munge.socket").exists(), work, "munged")
        start(root / "usr/sbin/slurmctld-wlm", "-D", "-i")
        start(
            root / "usr/sbin/slurmd-wlm",
            "-D",
            "-N",
            socket.gethostname(),
            "-d",
            root / "usr/sbin/slurmstepd-wlm",
        )

        def idle():
            told = subprocess.run(
                ["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True
            )
            return told.stdout.strip() == "idle"

        _wait(idle, work, "slurmctld and slurmd")
        try:
            yield environment
        finally:
            subprocess.run(["scancel", "--user=root"], env=environment, timeout=20)
            _wait(lambda: not jobs(environment), work, "the end of all jobs")


def jobs(environment):
    """Jobs that wait or run."""
    return subprocess.check_output(["squeue", "-h"], env=environment, text=True)


def _configure(root, work):
    libraries = root / "usr/lib/x86_64-linux-gnu"
    [libraries] = [found.parent for found in root.glob("usr/lib/*/slurm-wlm")] or [libraries]
    ports = {name: _free_port() for name in ("controller", "daemon")}
    text = CONFIGURATION.format(
        host=socket.gethostname(), work=work, libraries=libraries, cpus=os.cpu_count(), **ports
    )
    (work / "slurm.conf").write_text(text)
    (work / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
    key = work / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    # munged wants no directory that others may write to.
    work.chmod(0o755)
    return os.environ | {
        "SLURM_CONF": str(work / "slurm.conf"),
        "PATH": f"{root}/usr/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm",
    }


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(done, work, what, seconds=40):
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            logs = [f"== {log.name}\n{log.read_text()[-3000:]}" for log in work.glob("*.[lo]*[gt]")]
            raise TimeoutError("\n".join([f"{what}: not there after {seconds} s", *logs]))
        time.sleep(0.2)


def _end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
