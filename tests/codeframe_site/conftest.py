import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("ada", password="x")


@pytest.fixture
def page(operator: User) -> Client:
    """A browser in which somebody who may do anything has signed in."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    return client
