"""The vocabulary of the project: time spans, boxes, identifiers, evidence, faults, prices and ports.

Nothing here does input or output, and nothing here imports another room.
"""
