"""Child side, run as `python -I -S agent_supervisor.py RUN_DIR`; standard library only.

Own time counts: the parts are imported from their byte code, a script itself never is, and the
public modules json, signal, ctypes, subprocess and pathlib would each double the start time.
On macOS there is no child subreaper and no /proc: only the agent's process group is killed.
"""

import sys

sys.path.append(__file__.rsplit("/", 3)[0])  # -I leaves the folder out

from batches.supervisor.child.main import main

if __name__ == "__main__":
    main(sys.argv[1])
