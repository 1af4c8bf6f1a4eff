"""What people look at: `rows` say everything, and renderers (`text`) compute nothing."""
