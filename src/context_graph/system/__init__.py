"""Holds what touches the operating system: files that are read or replaced whole, processes, limits.

Each function asks by what the system has, and says what it does where that is missing. Linux is what runs;
macOS is written for and untested (docs/operations.md). ``small_files`` reads, replaces and locks files, and
opens no pipe and no device, ``folders`` watches folders and swaps the names of two, ``watchdog`` ends work
that takes too long.
"""
