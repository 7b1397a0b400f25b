"""The 80 classes of COCO as categories, with English and Chinese words for them.

Source of the classes and their order: Lin et al., "Microsoft COCO: Common objects in context" (2014). A category is named
as its class is, except where the vocabulary has that word for something else: ``orange`` is a colour.
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
