"""Makes one HTML file of a project's rows: `gather` asks for them, `page` lays them out.

Needs Jinja2, which the extra `[view]` installs; only `page` imports it.
"""
