"""Chat models behind ``world_api.core.ports.ChatModel``.

``openai_chat`` talks to any OpenAI-compatible server, ``rule_based`` plans by rules and needs no server,
``scripted`` plays given replies, ``recording`` records any of them and replays what was recorded.
"""
