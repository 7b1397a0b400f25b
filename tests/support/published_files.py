"""Small made-up files in the formats of others' benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def robot(folder: Path) -> Path:
    asked = {"question": "Where is the cup?", "answer": "On the shelf.", "reasoning": "Seen.", "timestamp": "01:05"}
    return _json(folder / "robot.json", {
        "kitchen_99": {"video_path": "data/videos/robot/kitchen_99.mp4", "mem_path": "m.pkl", "qa_list": [
            {**asked, "question_id": "kitchen_99_Q01", "type": ["Cross-Modal Reasoning"], "before_clip": 1},
            {**asked, "question_id": "kitchen_99_Q02", "type": ["Multi-Hop Reasoning"], "before_clip": -1},
            {**asked, "question_id": "kitchen_99_Q03", "question": "Why is she late?", "type": [], "before_clip": None},
        ]},
    })  # fmt: skip


def web(folder: Path) -> Path:
    asked = {
        "question": "What does he sell?",
        "answer": "Bread",
        "question_id": "AbC_Q1",
        "type": ["Person Understanding"],
    }
    video = {"video_url": "https://www.youtube.com/watch?v=AbC-_1", "video_path": "data/videos/web/AbC-_1.mp4"}
    return _json(folder / "web.json", {"AbC-_1": {**video, "qa_list": [asked]}})


def nextqa(folder: Path) -> Path:
    head = "video,frame_count,width,height,question,answer,qid,type,a0,a1,a2,a3,a4"
    rows = [
        "77,300,640,480,why does he wave,2,0,CW,rain,hunger,to greet,sleep,joy",
        '77,300,640,480,"what, then",0,1,TN,a,b,a,c,d',
    ]
    path = folder / "val.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    _json(folder / "map_vid_vidorID.json", {"77": "1164/77"})
    return path


def lvbench(folder: Path) -> Path:
    asked = {"uid": "12", "question": "What year is it?\n(A) 1636\n(B) 1366\n(C) 1363\n(D) 1633", "answer": "D",
             "question_type": ["key information retrieval"], "time_reference": "00:15-01:19"}  # fmt: skip
    video = {"key": "Cm73ma6Ibcs", "type": "cartoon", "qa": [asked], "video_info": {"duration_minutes": 61.2}}
    path = folder / "video_info.meta.jsonl"
    path.write_text(json.dumps(video) + "\n", encoding="utf-8")
    return path


def longvideobench(folder: Path) -> Path:
    asked = {"video_id": "86CxyhFV9MI", "question": "Which line?", "candidates": ["one", "two", "three"], "correct_choice": 1,
             "topic_category": "NP-News", "question_category": "TOS", "level": "L2-Relation", "id": "86CxyhFV9MI_0",
             "video_path": "86CxyhFV9MI.mp4", "subtitle_path": "86CxyhFV9MI_en.json", "duration_group": 600,
             "starting_timestamp_for_subtitles": 10.0, "duration": 190.2}  # fmt: skip
    unknown = {key: value for key, value in asked.items() if key != "correct_choice"} | {"id": "x_1"}
    lines = [{"start": "00:00:05.000", "end": "00:00:09.000", "line": "before"},
             {"start": "00:00:12.000", "end": "00:00:14.500", "line": "hello"},
             {"timestamp": [20.0, None], "text": "bye"}]  # fmt: skip
    _json(folder / "subtitles" / "86CxyhFV9MI_en.json", lines)
    return _json(folder / "lvb_val.json", [asked, unknown])


def egoschema(folder: Path) -> Path:
    asked = {"google_drive_id": "g", "question": "What is C doing?", **{f"option {n}": f"C does {n}" for n in range(5)}}
    _json(folder / "subset_answers.json", {"001934bb-81bd": 3})
    return _json(folder / "questions.json", [{"q_uid": "001934bb-81bd", **asked}, {"q_uid": "ffff-0000", **asked}])


def mlvu(folder: Path) -> Path:
    plot = {"video": "movie101_66.mp4", "duration": 246, "question": "Which colour?", "candidates": ["Yellow", "Red"],
            "answer": "Red", "question_type": "plotQA"}  # fmt: skip
    summary = {
        "video": "217.mp4",
        "duration": 480,
        "question": "What happens?",
        "answer": "A trip.",
        "question_type": "summary",
    }
    _json(folder / "json" / "1_plotQA.json", [plot, {**plot, "answer": "Green"}])
    _json(folder / "json" / "9_summary.json", [summary])
    return folder / "json"


def videomme(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet

    asked = {"video_id": "001", "duration": "short", "domain": "Knowledge", "sub_category": "Humanity & History",
             "url": "https://www.youtube.com/watch?v=fFjv93ACGo8", "videoID": "fFjv93ACGo8", "question_id": "001-1",
             "task_type": "Counting Problem", "question": "How many jars?", "options": ["A. 4.", "B. 9.", "C. 5.", "D. 13."],
             "answer": "B"}  # fmt: skip
    path = folder / "test-00000-of-00001.parquet"
    pa.parquet.write_table(pa.Table.from_pylist([asked]), path)
    return path


def videomme_json(folder: Path) -> Path:
    asked = {"question_id": "001-1", "task_type": "Counting Problem", "question": "How many jars?",
             "choices": ["A. 4.", "B. 9.", "C. 5.", "D. 13."], "answer": "B."}  # fmt: skip
    video = {"video_id": "001", "duration_category": "short", "video_category": "Knowledge",
             "video_subcategory": "Humanity & History", "url": "https://www.youtube.com/watch?v=fFjv93ACGo8"}  # fmt: skip
    return _json(folder / "video_mme.json", [{**video, "questions": [asked]}])


def dialogue() -> dict[str, Any]:
    """A dialogue of two sessions in the form of the upstream's list."""
    return {
        "sample_id": "conv-7",
        "conversation": {
            "speaker_a": "Ann", "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hello Ben, I painted a lighthouse on Sunday."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Show me!", "blip_caption": "a photo of a lighthouse", "img_url": ["u"]},
            ],
            "session_2_date_time": "10:00 am on 1 June, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I bought a blue kayak yesterday."}],
            "session_3_date_time": "never held",
        },
        "qa": [
            {"question": "What did Ann paint?", "answer": "a lighthouse", "category": 4, "evidence": ["D1:1"]},
            {"question": "When did Ben buy a kayak?", "answer": "31 May 2023", "category": 2, "evidence": ["D2:1; D1:2"]},
            {"question": "How many kayaks?", "answer": 1, "category": 1, "evidence": ["D9:9", "D:2:01"]},
            {"question": "What did Ben paint?", "adversarial_answer": "a lighthouse", "category": 5, "evidence": []},
            {"question": "What?", "answer": "x", "category": 6, "evidence": []},
        ],
    }  # fmt: skip


def locomo(folder: Path) -> Path:
    return _json(folder / "locomo10.json", [dialogue()])


FILES: dict[str, Callable[[Path], Path]] = {
    "m3bench-robot": robot, "m3bench-web": web, "videomme": videomme, "lvbench": lvbench, "longvideobench": longvideobench,
    "egoschema": egoschema, "nextqa": nextqa, "mlvu": mlvu, "locomo": locomo,
}  # fmt: skip
