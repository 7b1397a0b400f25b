"""Chat models behind ``world_api.core.ports.ChatModel``.

``openai_chat`` talks to any OpenAI-compatible server, over one of the two ``wires``; ``probing`` finds out what a server does.
``rule_based`` plans by rules and needs no server, ``scripted`` plays given replies. ``recording`` records any of them and
replays what was recorded, ``caching`` keeps replies from one run to the next. ``usage`` counts tokens, ``prices`` says what they cost.
"""
