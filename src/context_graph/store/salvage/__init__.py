"""Copies what a damaged database still holds into a new one. Start reading at `repair`."""
