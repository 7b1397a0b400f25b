"""From a configuration to what is to be asked: questions, libraries, cells, and everything that forbids a run."""
