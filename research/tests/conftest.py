"""Here too every test gets a home of its own."""

from tests.conftest import forked_python, isolated_home  # noqa: F401
