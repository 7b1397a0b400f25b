"""The configuration of an experiment: a YAML file, checked, with every fault at its line."""
