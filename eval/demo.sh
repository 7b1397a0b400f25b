#!/bin/sh
# `make demo` and `make ablation`: a video from its file to an answer, an experiment from its films to the report.
#
#   [PYTHON=python3] [VIDEO=my.mp4] sh eval/demo.sh demo|ablation
#
# Each command is printed before it runs, so that it can be tried by itself. Everything is kept in demo/ or ablation/:
# after an interruption no film is made, no world built and no question asked a second time.
set -eu
python=${PYTHON:-python3}
most=40 # lines of a command's output; the rest is counted, not shown
number=0

# step WHY ARGUMENT...: print a command of videoworld, run it, print its output; end with its status if it fails.
step() {
    number=$((number + 1))
    printf '\n== %s. %s\n$ videoworld' "$number" "$1"
    shift
    for argument; do
        case $argument in
        '' | *[!A-Za-z0-9_@%+=:,./-]*) printf " '%s'" "$(printf '%s' "$argument" | sed "s/'/'\\\\''/g")" ;;
        *) printf ' %s' "$argument" ;;
        esac
    done
    echo
    status=0
    output=$(PYTHONIOENCODING=utf-8 "$python" -m videoworld "$@" </dev/null) || status=$?
    if [ -n "$output" ]; then
        printf '%s\n' "$output" | sed -n "1,${most}p"
        lines=$(printf '%s\n' "$output" | wc -l)
        [ "$lines" -le "$most" ] || echo "... and $((lines - most)) lines more"
    fi
    [ "$status" -eq 0 ] || exit "$status"
}

demo() {
    video=${VIDEO:-} how=
    person='a person' question='When does a person first appear?'
    if [ -z "$video" ]; then
        video=demo/sample.mp4
        # The people in it are drawn, which a detector that was trained on photographs need not recognise.
        how='--profile classical'
        coat=$("$python" -c 'from eval.sandbox import DEFAULT_SEED, cast; print(cast(DEFAULT_SEED).owner.look.coat)')
        person="a person in a $coat coat" question="When does the person in the $coat coat first appear?"
        # The truth is written last: if it exists, the film is whole.
        [ -e demo/sample.truth.json ] || step 'Draw a sample video (VIDEO=path takes yours)' sample demo
    fi
    name=$("$python" -c 'import pathlib, sys
from world_api.core.identifiers import video_id_from_file_name
print(video_id_from_file_name(pathlib.Path(sys.argv[1]).stem))' "$video")
    tools=toollibs/examples/people.json
    store='--store demo/worlds'
    # shellcheck disable=SC2086 # two words
    {
        step "Build the video's world" build "$video" $store $how
        step 'What the world holds' inspect "$name" $store
        step 'The sixteen operations' ops
        step 'An operation: the scenes' call list_scenes --video "$name" $store
        step 'An operation: search by words' call search_segments_by_text --video "$name" $store "query=$person" top_k=3
        step 'An operation: who and what was identified' call list_entities --video "$name" $store
        step 'Check a high-level tool' tools check "$tools"
        step 'Run it' tools run "$tools" locate_first_appearance --video "$name" $store "person_query=$person"
        step 'Ask a question, with a tool library, and record the episode' \
            ask "$name" "$question" --tools hand_A --record demo/episodes $store
    }
    step 'What it did, round by round' show demo/episodes
    step 'Run the episode again, offline: the same bytes' replay demo/episodes
    printf '\nAll of it is in demo/. Remove that folder to begin again.\n'
}

ablation() {
    mkdir -p ablation
    [ -e ablation/ablation.yaml ] || cp "$(dirname "$0")/ablation.yaml" ablation/
    run=ablation/run
    step 'Make three films with truth and questions' \
        sandbox make --seed 1 --count 3 --minutes 3 --split test --out ablation/films
    step 'What there is to be asked' eval check ablation/films
    step 'What it would ask and take; nothing is asked' eval run ablation/ablation.yaml --dry-run
    step 'Build the worlds, ask the questions' eval run ablation/ablation.yaml
    step 'Score the episodes again: the same scores' eval score "$run"
    step 'Hierarchical against flat' eval compare "$run" hier@library=hand_A flat
    step 'Sanity: flat against itself must cover zero' eval compare "$run" flat-again flat
    step 'Sanity: tools that find nothing must not help' eval compare "$run" hier@library=placebo_hand_A flat
    step 'Libraries against domains' eval transfer "$run"
    step 'The report' eval report "$run"
    printf '\nAll of it is in ablation/. Remove that folder to begin again.\n'
    echo "Open $run/report/report.html in a browser."
    echo 'What the rule-based model answers is plumbing, not a result.'
}

case ${1:-demo} in
demo | ablation) "${1:-demo}" ;;
*) echo "usage: sh eval/demo.sh demo|ablation" >&2 && exit 2 ;;
esac
