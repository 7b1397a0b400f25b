"""The registry as others see it, and the command line over a store.

``schemas`` and ``strict_rules`` map schemas, ``faces`` shows the registry, ``pages`` writes the documentation,
``mcp_server`` serves, ``commands`` are the sub-commands. Nothing is imported here, so that ``--help`` stays fast.
"""
