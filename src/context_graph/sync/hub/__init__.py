"""A PostgreSQL that carries a team's changes: its tables, who may see what, and the transport over it (ADR 0028)."""
