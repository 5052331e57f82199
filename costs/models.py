"""What a model call takes. Nothing is metered yet: command engines report no tokens."""
