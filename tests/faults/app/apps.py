from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "tests.faults.app"
    label = "faults"

    def ready(self) -> None:
        from tests.faults import pausing

        pausing.install()
