"""Pictures of graphs, each laid out once: away from requests, and kept by what is in them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet

from tasks.planning.picture import Edge, Picture, lay_out

PATIENCE_S = 0.8
KEPT = 32

# One at a time: the work is done without Python's lock, but takes a whole core.
_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="picture")
_lock = threading.Lock()
_pictures: OrderedDict[int, tuple[object, "Future[Picture]"]] = OrderedDict()


def picture_of(count: int, edges: Sequence[Edge]) -> Picture | None:
    """None while it is still being laid out: ask again. Raises CycleError."""
    asked = (count, tuple(edges))
    with _lock:
        known, future = _pictures.get(hash(asked), (None, None))
        if future is None or known != asked:
            future = _worker.submit(lay_out, count, asked[1])
            _pictures[hash(asked)] = (asked, future)
        _pictures.move_to_end(hash(asked))
        while len(_pictures) > KEPT:
            _pictures.popitem(last=False)[1][1].cancel()
    try:
        return future.result(PATIENCE_S)
    except NotYet:
        return None
