"""The one step that asks a model: a closed question about each item, switched off unless somebody switches it on."""
