"""Loaded before the settings (pytest -p): gives every test process a state directory of its own."""

import atexit
import os
import shutil
import signal
import tempfile

# A job in the background is started deaf to Ctrl-C, and so would be every command that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

_STATE_DIR = tempfile.mkdtemp(prefix="codeframe-test-")
os.environ["CODEFRAME_STATE_DIR"] = _STATE_DIR
os.environ.setdefault("CODEFRAME_SECRET_KEY", "not-secret-only-for-tests")
atexit.register(shutil.rmtree, _STATE_DIR, ignore_errors=True)
