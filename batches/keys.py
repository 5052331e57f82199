"""Providers' keys reach engines: those named by the engine, and none else."""

import logging

from batches.engines import environment
from costs import redaction, secrets
from costs.keyring import KeyringError

log = logging.getLogger(__name__)


def load_keys() -> None:
    """From the database, for all that this process starts or shows from now on.

    Outside of a transaction. Without a key to open them engines go on with the environment's.
    """
    try:
        found = secrets.all_secrets()
    except (secrets.SecretError, KeyringError) as error:
        log.error("secrets: %s", error)
        return
    redaction.learn(found)
    environment.provide(found)
