"""How operations are declared: the registry, the types of arguments and of results."""
