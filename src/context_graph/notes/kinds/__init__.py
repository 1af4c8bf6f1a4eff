"""Makes the notes of single kinds, of what was gathered."""
