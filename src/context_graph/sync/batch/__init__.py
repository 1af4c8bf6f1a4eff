"""Consolidates the projects of a hub, spread over processes or machines by Dask (ADR 0028)."""
