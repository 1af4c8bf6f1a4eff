"""Exports memories as JSONL or Markdown, and imports them. Start reading at `format`."""
