"""Asks the operating system for what differs from one to the next: peers of sockets, processes.

Each function asks by what the system has, and says what it does where that is missing. Linux is what runs;
macOS is written for and untested (docs/operations.md). Start reading at ``peers``.
"""
