"""The steps of an attempt, one file each; batches/attempt.py says their order."""
