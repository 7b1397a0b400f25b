"""Film sets: what stands where in a room, as geometry that scripts are written against and pictures drawn from."""

from eval.sandbox.sets.plan import Opened, Plan, Seat, Spot

__all__ = ["Opened", "Plan", "Seat", "Spot"]
