"""What travels between the port and a server: the two APIs a server may speak, and how long it is waited for.

The port speaks Chat Completions. ``chat_completions`` sends that as it is; ``responses`` translates a request into what the
Responses API takes, and its answer back.
"""
