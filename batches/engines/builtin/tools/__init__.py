"""The tools of the built-in agent: what each is called, takes, and does."""
