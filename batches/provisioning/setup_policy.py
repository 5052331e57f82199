"""What this server's operator lets set-up commands do beyond their shapes."""

from django.conf import settings

from batches.provisioning.setup_command import Policy


def policy() -> Policy:
    return Policy(addresses=tuple(settings.SETUP_ADDRESSES), apt=settings.SETUP_APT)
