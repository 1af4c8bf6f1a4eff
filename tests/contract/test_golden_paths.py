"""The Python twin of the launcher's path rules, held to the same golden tables."""
