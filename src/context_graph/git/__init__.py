"""What gates and memory need of git: repositories, branches and their tips, read from files."""
