"""The C halves of os and signal under their public names, for the child side.

Without site packages the interpreter starts in 10 ms; the public modules would add 1 and 7.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal
else:
    import _signal as signal
    import posix as os

__all__ = ["os", "signal"]
