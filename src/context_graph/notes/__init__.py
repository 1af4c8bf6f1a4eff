"""Makes notes of a session's events: rules, decisions, lessons, changes, ways, findings, and what is open.

`gather.Gathered` takes events one by one and keeps what may become a note; `make.notes_of` makes the notes.
Everything is quoted from the events and shortened, never inferred; the same events give the same notes.
"""
