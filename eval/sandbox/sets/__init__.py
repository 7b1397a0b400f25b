"""Film sets: what stands where in a room, as geometry that scripts are written against and pictures drawn from."""

from eval.sandbox.sets.plan import Opened, Plan, Seat, Spot
from eval.sandbox.sets.planning import GIVING_APART, giving_place, plan_of

__all__ = ["GIVING_APART", "Opened", "Plan", "Seat", "Spot", "giving_place", "plan_of"]
