"""A model provider at the wire: four protocols, scripted by the prompt, faults on demand."""

from tests.fakes.models.server import Fault, ModelServer

__all__ = ["Fault", "ModelServer"]
