from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "codeframe_site"
    verbose_name = "codeframe"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from codeframe_site import checks  # noqa: F401  registers the system checks
