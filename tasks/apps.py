from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from costs import redaction
        from tasks.text import redact_with

        redact_with(redaction.text)
