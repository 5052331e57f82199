from django.db import models


class CommandEngine(models.Model):
    """A command line an operator set up; requests choose it by name, never by content."""

    class PromptVia(models.TextChoices):
        FILE = "file", "File"
        ARGUMENT = "argument", "Last argument"
        STDIN = "stdin", "Standard input"

    name = models.SlugField(max_length=100, unique=True)
    argv = models.JSONField(help_text="List of words; placeholders as in docs/engines.md")
    prompt_via = models.CharField(max_length=8, choices=PromptVia.choices, default=PromptVia.FILE)
    pass_env = models.JSONField(
        default=list, blank=True, help_text="Names of variables let through to the agent"
    )
    usage = models.JSONField(
        default=dict, blank=True, help_text="Where its output tells tokens; see docs/engines.md"
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def options(self) -> dict[str, object]:
        """As the engine takes them, and as a batch records them."""
        options = {"argv": self.argv, "prompt_via": self.prompt_via, "pass_env": self.pass_env}
        return options | ({"usage": self.usage} if self.usage else {})

    def __str__(self) -> str:
        return self.name
