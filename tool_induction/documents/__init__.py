"""The shape of tool documents: typed models for people who write tools in Python, and the JSON Schema made from them."""
