"""`setup`: hooks, memory tools, skills and permissions written into a project or the user's settings.

Knows the client's files and nothing of sessions or stores. Start reading at ``plan``; ``record`` remembers
how the files were before, ``entries`` says what of them is ours.
"""
