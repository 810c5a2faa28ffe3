"""Agents that strategies employ: each a prompt, a schema, a parser."""
