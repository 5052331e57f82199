from batches.models.batch import Batch
from batches.models.engine import CommandEngine
from batches.models.environment import Environment
from batches.models.finding import Finding
from batches.models.gate import GateRecord
from batches.models.recipe import RecipeCommand
from batches.models.run import Run
from batches.models.stage import Stage
from batches.models.trust import TrustedConfig

__all__ = [
    "Batch",
    "CommandEngine",
    "Environment",
    "Finding",
    "GateRecord",
    "RecipeCommand",
    "Run",
    "Stage",
    "TrustedConfig",
]
