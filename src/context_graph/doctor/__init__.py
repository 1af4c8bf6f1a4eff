"""`doctor`: whether what the client runs really works here, tried out and measured from the client's end.

Knows the client's files, the owner's socket and the hooks' and tools' commands; opens no store. Start reading
at ``report``; each other module looks at one thing.
"""
