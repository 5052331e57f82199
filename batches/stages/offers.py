"""Set-up commands that an agent declares in a file of its run, offered to a person."""

from pathlib import Path

from batches import paths
from batches.context import RunContext
from batches.gates.evidence import read_regular
from batches.persist import persist
from batches.provisioning.recipe import offer_commands

OFFERS = "CODEFRAME_SETUP_FILE"
"""The variable that names the file to the agent: one command a line."""
MAX_BYTES = 64 * 1024


def offers_file(context: RunContext) -> Path:
    return paths.run_dir(context.run.id) / "setup-commands"


def take_offers(context: RunContext) -> None:
    """Safe to call again: what is known is not offered twice."""
    content = read_regular(offers_file(context), max_bytes=MAX_BYTES)
    if not content:
        return
    lines = (line.strip() for line in content.decode(errors="replace").splitlines())
    texts = [line for line in lines if line and not line.startswith("#")]
    persist(lambda: offer_commands(run=context.run, workspace=context.batch.workspace, texts=texts))
