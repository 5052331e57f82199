"""A worker of its own, to be killed: starts a run and appends what it is handed to a file."""

import sys
from pathlib import Path

from batches.supervisor.client import Chunk, follow, start
from tests.batches.supervisor.helpers import never, python, spec_of


def main(run_dir: Path, seen: Path, script: str) -> None:
    handle = start(run_dir, spec_of(python(script)))
    with seen.open("ab", buffering=0) as file:

        def on_output(chunk: Chunk) -> None:
            file.write(chunk.data)

        follow(handle, on_output=on_output, should_stop=never, offsets={}, poll_s=0.01)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
