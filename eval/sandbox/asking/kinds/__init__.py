"""The kinds of questions, by task domain: each maker gives drafts whose answer the facts decide beyond doubt."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from eval.sandbox.asking.drafts import Asker, Draft
from eval.sandbox.asking.kinds import causing, counting, following, locating, ordering, summing

Maker: TypeAlias = Callable[[Asker], Iterator[Draft]]

#: domain -> type of question -> its maker
MAKERS: Mapping[str, Mapping[str, Maker]] = {
    "A_locate_count": {
        "first_appearance": locating.first_appearance,
        "last_appearance": locating.last_appearance,
        "event_time": locating.event_time,
        "words_time": locating.words_time,
        "together_time": locating.together_time,
        "distinct_count": counting.distinct_count,
        "occurrence_count": counting.occurrence_count,
        "visible_duration": counting.visible_duration,
        "presence": counting.presence,
        "place_count": counting.place_count,
    },
    "B_order_cause": {
        "pair_order": ordering.pair_order,
        "sequence_order": ordering.sequence_order,
        "just_before": ordering.just_before,
        "just_after": ordering.just_after,
        "between": ordering.between,
        "cause": causing.cause,
        "consequence": causing.consequence,
        "state_change": causing.state_change,
        "responsible": causing.responsible,
    },
    "C_summary_multihop": {
        "video_summary": summing.video_summary,
        "part_summary": summing.part_summary,
        "person_summary": summing.person_summary,
        "comparison": summing.comparison,
        "followed_thing": following.followed_thing,
        "spoken_reference": following.spoken_reference,
        "chain": following.chain,
        "general_rule": following.general_rule,
    },
}
