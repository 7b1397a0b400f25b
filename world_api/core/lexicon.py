"""Tables of words: colours, categories (the 80 classes of COCO among them), and words without content, in English and Chinese.

The eleven colours are the basic colour terms of Berlin and Kay (1969). Source of the classes and their order: Lin et al.,
"Microsoft COCO: Common objects in context" (2014). A category is named as its class is, except where the vocabulary has
that word for something else: ``orange`` is a colour. A profile that judges more adds its categories.
"""

from __future__ import annotations

#: canonical category -> (English words, Chinese words), in the order of the classes' numbers.
COCO: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "person": (("person",), ("人",)),
    "bicycle": (("bicycle", "bike", "cycle"), ("自行车", "单车", "脚踏车")),
    "car": (("car",), ("汽车",)),
    "motorcycle": (("motorcycle", "motorbike"), ("摩托车", "摩托")),
    "airplane": (("airplane", "aeroplane", "plane", "aircraft"), ("飞机",)),
    "bus": (("bus",), ("公交车", "公共汽车", "巴士", "大巴")),
    "train": (("train",), ("火车", "列车")),
    "truck": (("truck", "lorry"), ("卡车", "货车")),
    "boat": (("boat", "ship"), ("船", "船只", "小船", "轮船")),
    "traffic_light": (("traffic light", "stoplight"), ("红绿灯", "交通灯", "信号灯")),
    "fire_hydrant": (("fire hydrant", "hydrant"), ("消防栓", "消火栓")),
    "stop_sign": (("stop sign",), ("停车标志", "停止标志")),
    "parking_meter": (("parking meter",), ("停车计时器", "停车收费器")),
    "bench": (("bench",), ("长椅", "长凳")),
    "bird": (("bird",), ("鸟", "鸟儿", "小鸟")),
    "cat": (("cat",), ("猫", "猫咪")),
    "dog": (("dog",), ("狗", "犬", "狗狗")),
    "horse": (("horse",), ("马匹", "马儿")),
    "sheep": (("sheep",), ("羊", "绵羊")),
    "cow": (("cow", "cattle"), ("牛", "奶牛")),
    "elephant": (("elephant",), ("大象",)),
    "bear": (("bear",), ("熊", "狗熊")),
    "zebra": (("zebra",), ("斑马",)),
    "giraffe": (("giraffe",), ("长颈鹿",)),
    "backpack": (("backpack", "rucksack", "knapsack"), ("背包", "双肩包", "书包")),
    "umbrella": (("umbrella",), ("雨伞", "伞")),
    "handbag": (("handbag", "purse"), ("手提包", "手袋")),
    "tie": (("tie", "necktie"), ("领带",)),
    "suitcase": (("suitcase", "luggage"), ("行李箱", "手提箱", "拉杆箱")),
    "frisbee": (("frisbee",), ("飞盘",)),
    "skis": (("skis", "ski"), ("滑雪板",)),
    "snowboard": (("snowboard",), ("单板滑雪板",)),
    "sports_ball": (("sports ball", "ball"), ("球", "皮球")),
    "kite": (("kite",), ("风筝",)),
    "baseball_bat": (("baseball bat",), ("棒球棒", "球棒")),
    "baseball_glove": (("baseball glove",), ("棒球手套",)),
    "skateboard": (("skateboard",), ("滑板",)),
    "surfboard": (("surfboard",), ("冲浪板",)),
    "tennis_racket": (("tennis racket", "racket", "racquet"), ("网球拍", "球拍")),
    "bottle": (("bottle",), ("瓶子", "瓶")),
    "wine_glass": (("wine glass", "wineglass", "goblet"), ("酒杯", "红酒杯", "高脚杯")),
    "cup": (("cup", "mug"), ("杯子", "杯", "茶杯")),
    "fork": (("fork",), ("叉子", "餐叉")),
    "knife": (("knife",), ("刀", "刀子", "餐刀")),
    "spoon": (("spoon",), ("勺子", "汤匙", "勺")),
    "bowl": (("bowl",), ("碗",)),
    "banana": (("banana",), ("香蕉",)),
    "apple": (("apple",), ("苹果",)),
    "sandwich": (("sandwich",), ("三明治",)),
    "orange_fruit": (("orange fruit", "oranges", "tangerine"), ("橙子", "橘子")),
    "broccoli": (("broccoli",), ("西兰花", "花椰菜")),
    "carrot": (("carrot",), ("胡萝卜",)),
    "hot_dog": (("hot dog", "hotdog"), ("热狗",)),
    "pizza": (("pizza",), ("披萨", "比萨")),
    "donut": (("donut", "doughnut"), ("甜甜圈",)),
    "cake": (("cake",), ("蛋糕",)),
    "chair": (("chair",), ("椅子", "椅")),
    "couch": (("couch", "sofa", "settee"), ("沙发",)),
    "potted_plant": (("potted plant", "houseplant", "plant"), ("盆栽", "植物")),
    "bed": (("bed",), ("床",)),
    "dining_table": (("dining table", "table"), ("餐桌", "桌子", "饭桌")),
    "toilet": (("toilet",), ("马桶", "坐便器")),
    "tv": (("tv", "television", "tv set", "monitor"), ("电视", "电视机", "显示器")),
    "laptop": (("laptop", "notebook computer"), ("笔记本电脑", "手提电脑")),
    "computer_mouse": (("computer mouse",), ("鼠标",)),
    "remote": (("remote", "remote control"), ("遥控器",)),
    "keyboard": (("keyboard",), ("键盘",)),
    "cell_phone": (("cell phone", "cellphone", "mobile phone", "smartphone", "phone", "telephone"), ("手机", "电话", "移动电话")),
    "microwave": (("microwave", "microwave oven"), ("微波炉",)),
    "oven": (("oven",), ("烤箱",)),
    "toaster": (("toaster",), ("烤面包机",)),
    "sink": (("sink", "washbasin"), ("水槽", "洗手池", "洗碗池")),
    "refrigerator": (("refrigerator", "fridge"), ("冰箱",)),
    "book": (("book",), ("书", "书本")),
    "clock": (("clock",), ("时钟", "钟表", "挂钟")),
    "vase": (("vase",), ("花瓶",)),
    "scissors": (("scissors",), ("剪刀",)),
    "teddy_bear": (("teddy bear", "teddy"), ("泰迪熊", "玩具熊")),
    "hair_drier": (("hair drier", "hair dryer", "hairdryer"), ("吹风机", "电吹风")),
    "toothbrush": (("toothbrush",), ("牙刷",)),
}  # fmt: skip

#: canonical category -> words that are narrower than it: what they add (age, kind) is not measured.
NARROWER_OBJECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "dog": (("puppy",), ("小狗",)),
    "cat": (("kitten",), ("小猫",)),
    "cow": (("bull", "calf"), ("小牛",)),
    "sheep": (("lamb",), ("羊羔",)),
    "horse": (("pony", "foal"), ("小马",)),
    "car": (("taxi", "cab"), ("出租车",)),
    "airplane": (("jet", "airliner"), ("喷气机", "客机")),
    "sports_ball": (("football", "basketball", "baseball"), ("足球", "篮球", "排球", "棒球", "乒乓球")),
    "chair": (("armchair", "stool"), ("凳子",)),
}

#: Chinese words that contain a word of these tables and mean something else.
OTHER_OBJECTS_CHINESE = (
    "牛仔", "牛奶", "牛肉", "羊毛", "羊肉", "熊猫", "书房", "书架", "书桌", "书店", "床单", "起床", "球场", "球员", "气球", "地球",
    "全球", "星球", "船员", "飞船", "刀片", "手表", "椅背", "瓶盖", "苹果汁", "马路", "秘书", "证书",
)  # fmt: skip

#: Names of classes in the lists that come with models -> our category.
_RENAMED = {"orange": "orange_fruit", "mouse": "computer_mouse", "hair_dryer": "hair_drier", "sofa": "couch"}


def category_of_label(label: str) -> str:
    """Return the category of a class by its name in a model's list: ``cell phone`` is ``cell_phone``."""
    own = "_".join(label.strip().casefold().split())
    return _RENAMED.get(own, own)


#: canonical word -> (English words, Chinese words); the canonical word is the first.
COLOURS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "black": (("black",), ("黑色", "黑")),
    "white": (("white",), ("白色", "白")),
    "grey": (("grey", "gray"), ("灰色", "灰")),
    "red": (("red",), ("红色", "红")),
    "orange": (("orange",), ("橙色", "橘色", "橙")),
    "yellow": (("yellow",), ("黄色", "黄")),
    "green": (("green",), ("绿色", "绿")),
    "blue": (("blue",), ("蓝色", "蓝")),
    "purple": (("purple", "violet"), ("紫色", "紫")),
    "pink": (("pink",), ("粉色", "粉红")),
    "brown": (("brown",), ("棕色", "褐色", "咖啡色")),
}

#: Shade -> the colour under which search ranks it. A measured colour shows neither that it is the shade nor, since shades
#: cross the borders of colours, that it is not.
SHADES = {
    **dict.fromkeys(("silver", "银色"), "grey"),
    **dict.fromkeys(("crimson", "scarlet", "maroon"), "red"),
    **dict.fromkeys(("golden", "金色"), "yellow"),
    "olive": "green",
    **dict.fromkeys(("navy", "teal", "cyan", "turquoise", "青色"), "blue"),
    "lilac": "purple",
    "magenta": "pink",
    **dict.fromkeys(("beige", "tan"), "brown"),
}

#: Measured colour -> colours that about a quarter or more of what is named so may be called as well, in other light or by
#: another camera (``world_api.build.colours.near_names``). Of such a colour a measured word shows as little as of a shade.
NEIGHBOURS: dict[str, frozenset[str]] = {
    "black": frozenset({"grey", "red", "green", "blue", "purple", "brown"}),
    "white": frozenset({"grey", "orange", "green", "blue", "pink"}),
    "grey": frozenset({"black", "white", "yellow", "green", "blue", "brown"}),
    "red": frozenset({"pink", "brown"}),
    "orange": frozenset({"red", "yellow", "brown"}),
    "yellow": frozenset({"green"}),
    "green": frozenset(),
    "blue": frozenset({"purple"}),
    "purple": frozenset({"blue", "pink"}),
    "pink": frozenset({"red", "purple"}),
    "brown": frozenset({"black", "red", "orange"}),
}

#: Colours that hair, shoes and trousers often have. If a description has no other colour, the whole outfit is meant.
NEUTRALS = frozenset({"black", "white", "grey", "brown"})

#: canonical category -> (English words, Chinese words)
CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "person": (
        (
            "person", "persons", "people", "man", "men", "woman", "women", "boy", "girl", "guy", "lady", "gentleman",
            "child", "children", "kid", "someone", "somebody", "pedestrian", "human", "adult", "individual",
        ),
        ("人", "男子", "女子", "男人", "女人", "男孩", "女孩", "男生", "女生", "孩子", "行人", "人物", "先生", "女士", "谁"),
    ),
    "face": (("face", "faces"), ("脸", "面孔")),
    "moving_object": (("moving_object", "object", "thing", "item"), ("物体", "东西", "物品")),
    "car": (("car", "cars", "automobile"), ("汽车", "轿车", "车辆", "车")),
    "bottle": (("bottle", "bottles"), ("瓶子",)),
    "dog": (("dog", "dogs"), ("狗",)),
    "cat": (("cat", "cats"), ("猫",)),
    "text": (("text", "words", "writing", "caption", "subtitle"), ("文字", "字幕")),
}  # fmt: skip

#: Words that contain a word of the tables above and mean something else.
OTHER_CHINESE = (
    "火车", "列车", "电车", "马车", "自行车", "单车", "摩托车", "公交车", "车站", "车间", "车票", "风车", "水车",
    "机器人", "雪人", "稻草人", "和服",
)  # fmt: skip

#: Words without content in a description or a question.
STOP_WORDS = frozenset(
    "a an the in on at of to and or with by for from is are was were be been being this that these those it its he she "
    "they them him his her their there here who whom which what when where why how do does did doing done has have had not "
    "as into out up down over under me my we our you your i s t "
    "wearing wears wear dressed clothes clothing clad coloured colored first second last time appear appears appeared".split()
)
#: The same in Chinese: single characters and pairs, the units of the index.
STOP_CHINESE = frozenset(
    "的 了 在 是 我 你 他 她 它 们 这 那 有 和 与 或 就 都 也 很 到 说 要 会 着 看 吗 吧 呢 么 什 怎 哪 "
    "穿 衣 服 第 一 次 出 现 首 时 中 里 "
    "没有 什么 哪里 时候 怎么 衣服 的衣 服的 穿着 一次 第一 出现 首次 视频 在做 他们 她们 我们 你们 这个 那个 一个".split()
)

#: Words of these tables that are narrower than their category: age, sex and number are not measured.
NARROWER_WORDS = frozenset(
    "man men woman women boy girl guy lady gentleman child children kid baby toddler teenager crowd pedestrian adult automobile "
    "男子 女子 男人 女人 男孩 女孩 男生 女生 男性 女性 孩子 小孩 儿童 大人 成年人 老人 年轻人 行人 先生 女士 轿车".split()
).union(*(words for both in NARROWER_OBJECTS.values() for words in both))

#: profile -> the categories that it judges. The oracle records all people; of other categories it judges recorded ones.
JUDGED_BY_PROFILE: dict[str, frozenset[str]] = {
    "classical": frozenset({"person", "moving_object"}),
    "oracle": frozenset({"person"}),
}

#: The category of words such as "thing" that mean things of any category, people included.
ANY = "any"

#: canonical category -> (English words, Chinese words), in addition to those of ``CATEGORIES``.
MORE_CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ANY: (
        ("object", "thing", "item", "anything", "something", "everything", "stuff"),
        ("物体", "东西", "物品", "事物", "任何", "所有", "一切", "全部"),
    ),
    "person": (
        ("persons", "anyone", "anybody", "everyone", "everybody", "baby", "toddler", "teenager", "crowd"),
        ("人们", "大人", "成年人", "小孩", "儿童", "老人", "年轻人", "男性", "女性"),
    ),
    "moving_object": (("moving object", "moving thing"), ("运动物体", "移动物体")),
    "folder": (("folder",), ("文件夹",)),
    "cup": COCO["cup"],
    "book": COCO["book"],
    "umbrella": COCO["umbrella"],
    "box": (("box",), ("盒子", "箱子")),
    "bag": (("bag",), ("包", "袋子")),
    "key": (("key",), ("钥匙",)),
    "hat": (("hat",), ("帽子",)),
    "scarf": (("scarf",), ("围巾",)),
    "letter": (("letter",), ("信", "信件")),
}
