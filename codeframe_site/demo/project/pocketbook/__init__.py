"""Reads a plain text ledger of expenses and adds it up."""
