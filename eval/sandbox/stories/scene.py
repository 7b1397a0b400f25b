"""What people can do in a shot: every action changes the world, the script and the chronicle at once."""

from __future__ import annotations

from eval.sandbox.facts import Event
from eval.sandbox.script import Line, Opening
from eval.sandbox.sets import Opened, Seat, Spot, giving_place
from eval.sandbox.stories.casting import Article, Player
from eval.sandbox.stories.chronicle import on_frame
from eval.sandbox.stories.part import Stretch
from eval.sandbox.stories.stage import Stage
from eval.sandbox.stories.state import Feet, hand_place, kept_on

_BEFORE_SITTING = 0.8  #: seconds in which somebody stands before a seat and can be seen whole


class Scene(Stage):
    """A shot in the making. Actions follow one another, each when the one before is over."""

    def enter(self, player: Player, goal: Feet | None = None) -> Event:
        """Somebody comes in and walks to a place, or to somewhere free."""
        who = self.state(player)
        self.world.come(player, self.location.id)
        if goal is not None:
            self._make_way(player, goal)
        origin, goal = self._way_in(player, self._free_places(player) if goal is None else (goal,))
        part = self._part(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(origin, goal))
        inside = on_frame(begin + (end - begin) * self._crossing(origin, goal))
        part.walk(begin, end, goal, origin=origin)
        part.appears(inside)
        self.now = on_frame(end + 0.2)
        for subject in (player.id, *self._carried_by(player)):
            self.chronicle.begins("in", subject, self.location.id, self._time(inside))
        event = self._happened("enters", player, inside, end, article=who.holds)
        self._keep_habits(player)
        return event

    def leave(self, player: Player, *, waits: bool = True) -> Event:
        """Somebody goes out; what follows waits until they are gone, or only until they are on their way."""
        self._must_stand(player)
        who = self.state(player)
        part = self._part(player)
        origin, goal = who.feet, self._way_out(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(origin, goal))
        outside = on_frame(end - (end - begin) * self._crossing(goal, origin))
        part.walk(begin, end, goal)
        part.disappears(outside)
        self.now = on_frame(end if waits else begin + 1.0)
        event = self._happened("leaves", player, begin, outside, article=who.holds)
        for subject in (player.id, *self._carried_by(player)):
            self.chronicle.ends("in", subject, self.location.id, self._time(outside))
        self.world.go(player)
        return event

    def walk(self, player: Player, goal: Feet) -> None:
        """Somebody walks to a place in the room, if they are not there; who sits stands up for it."""
        self._must_stand(player)
        who = self.state(player)
        if abs(who.feet[0] - goal[0]) + abs(who.feet[1] - goal[1]) < 1.0:
            return
        self._make_way(player, goal)
        part = self._part(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(who.feet, goal))
        part.walk(begin, end, goal)
        self.now = on_frame(end + 0.1)

    def pick_up(self, player: Player, article: Article) -> Event:
        """Somebody takes a thing that lies here or is inside something here, which is opened for it and closed again."""
        where = self.world.things[article.id]
        place = where.spot or where.inside
        if place is None:
            raise LookupError(f"{article.id} does not lie anywhere")
        if isinstance(place, Opened) and place.name not in self.world.open[self.location.id]:
            self.open(player, place)
        self.walk(player, place.stand)
        begin, middle, end = self._times(player, "picks up")
        self.world.take(player, article)
        inside = isinstance(place, Opened)
        event = self._happened("picks_up", player, begin, end, article=article, target=kept_on(place), inside=inside)
        self._do(player, "picks up", begin, end, event, facing=place.facing, place=hand_place(place), article=article)
        self._part(player).carries_from(middle)
        if isinstance(place, Spot):
            self._rest(article, self._lies_since.pop(article.id), middle, place)
        self.chronicle.ends("inside" if inside else "on", article.id, kept_on(place), self._time(middle))
        self.chronicle.begins("holds", player.id, article.id, self._time(middle))
        if isinstance(place, Opened):
            self.close(player, place)
        return event

    def put_down(self, player: Player, place: Spot | Opened) -> Event:
        """Somebody puts what they hold on a spot, or into something, which is opened for it and closed again."""
        inside = isinstance(place, Opened)
        if isinstance(place, Opened) and place.name not in self.world.open[self.location.id]:
            self.open(player, place)
        self.walk(player, place.stand)
        begin, middle, end = self._times(player, "puts down")
        article = self.world.put(player, place)
        event = self._happened("puts_down", player, begin, end, article=article, target=kept_on(place), inside=inside)
        self._do(player, "puts down", begin, end, event, facing=place.facing, place=hand_place(place), article=article)
        self._let_go(player, article, middle)
        self.chronicle.begins("inside" if inside else "on", article.id, kept_on(place), self._time(middle))
        if isinstance(place, Opened):
            self.close(player, place)
        else:
            self._lies_since[article.id] = middle
        return event

    def give(self, giver: Player, receiver: Player) -> Event:
        """Somebody gives what they hold to somebody else here."""
        self._must_stand(receiver)
        self.walk(giver, self._meeting_place(giver, receiver))
        one, other = self.state(giver), self.state(receiver)
        self.now = max(self.now, self._part(receiver).busy)
        begin, middle, end = self._times(giver, "gives")
        article = self.world.give(giver, receiver)
        event = self._happened("gives", giver, begin, end, article=article, other=receiver)
        facing = 1 if other.feet[0] > one.feet[0] else -1
        place = giving_place(one.feet, other.feet)
        self._do(giver, "gives", begin, end, event, facing=facing, place=place, article=article)
        self._part(receiver).gesture(
            "receives", begin, end, f"receives {article.thing.name}", facing=-facing, place=place, article=article
        )
        self._let_go(giver, article, middle)
        self._part(receiver).carries_from(middle)
        self.chronicle.begins("holds", receiver.id, article.id, self._time(middle))
        return event

    def put_on(self, player: Player) -> Event:
        """Somebody puts on the hat or scarf they hold."""
        self._must_stand(player)
        begin, middle, end = self._times(player, "puts on")
        article = self.world.wear(player)
        event = self._happened("puts_on", player, begin, end, article=article)
        self._do(player, "puts on", begin, end, event, article=article)
        self._let_go(player, article, middle)
        self._part(player).wears_from(article, middle)
        self.chronicle.begins("wears", player.id, article.id, self._time(middle))
        return event

    def take_off(self, player: Player, article: Article) -> Event:
        """Somebody takes off a hat or scarf and holds it."""
        self._must_stand(player)
        begin, middle, end = self._times(player, "takes off")
        self.world.unwear(player, article)
        event = self._happened("takes_off", player, begin, end, article=article)
        self._do(player, "takes off", begin, end, event, article=article)
        part = self._part(player)
        since, until = part.worn_until(article, middle)
        self._stretches.append(Stretch(article.id, player.id, since, until))
        part.carries_from(middle)
        self.chronicle.ends("wears", player.id, article.id, self._time(middle))
        self.chronicle.begins("holds", player.id, article.id, self._time(middle))
        return event

    def drink(self, player: Player) -> Event:
        """Somebody drinks from the cup they hold."""
        begin, _, end = self._times(player, "drinks")
        event = self._happened("drinks", player, begin, end, article=self.state(player).holds)
        self._do(player, "drinks", begin, end, event)
        return event

    def open(self, player: Player, opened: Opened) -> Event:
        """Somebody opens a drawer, a cupboard or a door."""
        self.walk(player, opened.stand)
        begin, middle, end = self._times(player, "opens")
        self.world.set_open(self.location.id, opened.name, is_open=True)
        event = self._happened("opens", player, begin, end, target=opened.name)
        self._do(player, "opens", begin, end, event, facing=opened.facing, place=opened.handle)
        self._open_since[opened.name] = middle
        return event

    def close(self, player: Player, opened: Opened) -> Event:
        """Somebody closes what is open."""
        self.walk(player, opened.stand)
        begin, middle, end = self._times(player, "closes")
        self.world.set_open(self.location.id, opened.name, is_open=False)
        event = self._happened("closes", player, begin, end, target=opened.name)
        self._do(player, "closes", begin, end, event, facing=opened.facing, place=opened.handle)
        self._openings.append(Opening(start=self._open_since.pop(opened.name), end=middle, target=opened.name))
        return event

    def sit(self, player: Player, seat: Seat) -> Event:
        """Somebody walks to a seat and sits down."""
        self.walk(player, seat.stand)
        self.pause(_BEFORE_SITTING)
        begin, _, end = self._times(player, "sits down")
        self.world.sit(player, seat)
        event = self._happened("sits", player, begin, end, target=seat.name)
        self._do(player, "sits down", begin, end, event, facing=seat.facing)
        return event

    def wave(self, player: Player, other: Player | None = None) -> Event:
        """Somebody waves, at somebody or just so."""
        begin, _, end = self._times(player, "waves")
        event = self._happened("waves", player, begin, end, other=other)
        self._do(player, "waves", begin, end, event, facing=self._towards(player, other))
        return event

    def say(self, player: Player, words: str, to: Player | None = None) -> Event:
        """Somebody says a line."""
        begin = on_frame(max(self.now, self._part(player).busy))
        end = on_frame(begin + min(5.5, max(1.6, 0.9 + 0.055 * len(words))))
        event = self._happened("says", player, begin, end, other=to, words=words)
        facing = self._towards(player, to)
        self._lines.append(Line(start=begin, end=end, speaker=player.actor, text=words, facing=facing))
        self._part(player).busy = end
        self.now = on_frame(end + self.cast.between)
        return event

    def pause(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.now = on_frame(self.now + seconds)

    def _carried_by(self, player: Player) -> list[str]:
        who = self.state(player)
        return [article.id for article in (*([who.holds] if who.holds else []), *who.wears)]

    def _keep_habits(self, player: Player) -> None:
        for habit in self.cast.habits:
            if habit.kind == "waves" and (habit.person, habit.room) == (player.id, self.location.id):
                self.wave(player)
