"""A small agent: notes its start, refuses to work beside another one on its task, writes a file.

Arguments: the folder for its notes. It waits while `<folder>/<task>.hold` is there.
"""

import fcntl
import os
import sys
import time

WAIT_S = 500.0
OVERLAP = 65


def main(folder: str) -> None:
    task = os.environ["CODEFRAME_TASK_ID"]
    note(f"{folder}/{task}.starts", f"{os.environ['CODEFRAME_RUN_ID']} {os.getpid()}\n")
    lock = os.open(f"{folder}/{task}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note(f"{folder}/overlaps", f"{task}\n")
        sys.exit(OVERLAP)
    sys.stdout.write("at work\n")
    sys.stdout.flush()
    deadline = time.monotonic() + WAIT_S
    while os.path.exists(f"{folder}/{task}.hold") and time.monotonic() < deadline:
        time.sleep(0.02)
    with open(f"{task}.txt", "w") as file:
        file.write("done\n")
    sys.stdout.write("done\n")


def note(path: str, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, line.encode())
    os.close(fd)


if __name__ == "__main__":
    main(sys.argv[1])
