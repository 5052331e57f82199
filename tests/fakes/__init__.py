"""Stand-ins for what lies outside the product, run as real processes or servers."""

import sys
from pathlib import Path

AGENT = [sys.executable, str(Path(__file__).resolve().with_name("agent.py"))]
