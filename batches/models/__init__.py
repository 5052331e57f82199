from batches.models.batch import Batch
from batches.models.engine import CommandEngine
from batches.models.finding import Finding
from batches.models.gate import GateRecord
from batches.models.run import Run
from batches.models.stage import Stage

__all__ = ["Batch", "CommandEngine", "Finding", "GateRecord", "Run", "Stage"]
