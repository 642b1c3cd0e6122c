"""`python -m helpers` that is killed in the middle of writing its n-th checkpoint, once: dies_while_writing.py N …"""

import os
import signal
import sys

from helpers import checkpoints
from helpers.__main__ import main

written = 0
fsync = os.fsync


def die_or_write(handle):
    global written
    written += 1
    if written == int(sys.argv[1]) and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.ftruncate(handle, 1000)  # the rest has not reached the disk
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)


checkpoints.os.fsync = die_or_write
sys.exit(main(sys.argv[2:]))
