"""Child side, run as `python -I agent.py OPTIONS` in the working tree.

-I keeps the tree, which is the current directory, out of the module path.
"""

import sys

sys.path.append(__file__.rsplit("/", 4)[0])  # -I leaves our own folder out too

from batches.engines.builtin.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
