"""What a session leaves: notes, each of one kind."""
