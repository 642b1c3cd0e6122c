"""Two hosts train one model: each a network namespace of this machine, joined by a cable."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid

import pytest

from notebooks import ROOT

WORKER = ROOT / "tests" / "host_worker.py"
TIMEOUT = 10  # seconds that a rank waits for another
ADDRESSES = ("10.77.0.1", "10.77.0.2")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes network namespaces"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="no program `ip` here: install iproute2"),
]


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Hosts:
    """Two namespaces with a cable between them."""

    def __init__(self):
        mark = uuid.uuid4().hex[:6]
        self.names = [f"host{place}-{mark}" for place in (1, 2)]
        self.ends = [f"end{place}-{mark}" for place in (1, 2)]
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1])
        for name, end, address in zip(self.names, self.ends, ADDRESSES, strict=True):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")

    def start(self, folder, epochs):
        """Start torchrun on both; return the processes. Each host has a disk of its own."""
        processes = []
        run = uuid.uuid4().hex
        for place, (name, end, address) in enumerate(zip(self.names, self.ends, ADDRESSES, strict=True)):
            disk = folder / f"disk{place + 1}"
            disk.mkdir(exist_ok=True, parents=True)
            command = ["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run"]
            command += ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-id={run}"]
            command += [f"--rdzv-endpoint={ADDRESSES[0]}:29400", f"--rdzv-conf=is_host={1 - place}"]
            command += [f"--local-addr={address}", "--shutdown-timeout=5"]
            command += [str(WORKER), str(disk / "run"), str(epochs), str(disk / "result.json"), str(TIMEOUT)]
            environment = {**os.environ, "GLOO_SOCKET_IFNAME": end, "OMP_NUM_THREADS": "1"}
            with open(disk / "said.txt", "w") as out:
                processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=ROOT))
        return processes

    def remove(self):
        for name in self.names:
            ip("netns", "del", name)


@pytest.fixture
def hosts():
    hosts = Hosts()
    yield hosts
    hosts.remove()


def results(folder):
    return [json.loads((folder / f"disk{place}" / "result.json").read_text()) for place in (1, 2)]


def said(folder):
    return [(folder / f"disk{place}" / "said.txt").read_text() for place in (1, 2)]


def wait(processes, seconds):
    end = time.monotonic() + seconds
    try:
        return [process.wait(max(0.1, end - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            process.kill()


def test_two_hosts_train_an_epoch_and_end_with_the_same_weights(hosts, tmp_path):
    assert wait(hosts.start(tmp_path, epochs=1), 90) == [0, 0], said(tmp_path)
    first, second = results(tmp_path)
    assert {first["rank"], second["rank"]} == {0, 1}
    assert first["weights"] == second["weights"]
    written = sorted(path.name for disk in (1, 2) for path in (tmp_path / f"disk{disk}").glob("run*"))
    assert written == ["run"], "rank 0 alone writes"
