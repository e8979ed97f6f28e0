import csv
import random
import re
from collections import defaultdict
from html import unescape
from urllib.parse import unquote_plus

import numpy as np
import pyarrow as pa
import pytest

from crepebench.parsing import necessary_words, parse_texts
from crepebench.phrases import ALL
from crepebench.scan import CandidateIndex
from crepebench.surface_forms import find_runs, split_runs
from crepebench.vocabularies import atom_key, vocabulary_keys
from icons_world import phrases
from icons_world.corpora import draw_corpus_rows, draw_corpus_scenes
from icons_world.world import NOTHING_HELD_OUT, read_world

DOG, TREE, UNDER, RED = (
    atom_key(*a) for a in (("object", "dog"), ("object", "tree"), ("relation", "under"), ("attribute", "red"))
)
RED_DOG = ("attribute_object", "", "", "dog", "red")
DOG_UNDER_TREE = ("object_relation_object", "dog", "under", "tree", "")
DOG_LOOK_UP_AT_TREE = ("object_relation_object", "dog", "look up at", "tree", "")


WEB_CAPTIONS = r"""
Don't look at the dog's BIG ears!!! #dogs #CutePuppy
DON’T LOOK AT THE DOG’S BIG EARS
The boys' bikes can't fit in the women's car
I'm sure they've got a 5cm nail and a 10kg bag w/ handles
5CM NAIL, 10KG BAG, 2.5L BOTTLE – free shipping
Men's T-Shirts & Women's t-shirts | Size XL | shop.example.com
mens tshirt w/ v-neck, womens v-necks on hangers
A café with crème brûlée on the tables; cafés near naïve tourists
Cafe\u0301 with a red re\u0301sume\u0301 on the desk
<PERSON> holding <PERSON>'s hand in front of the <LOCATION>
<PERSON>and<PERSON> sitting on benches
photo/video of cats/dogs on and/or under the sofa
IMG_2034.JPG red_car_under_tree final-final (2).png
https://www.example.com/red-dogs?id=5&cat=2 a red dog sits there
www.example.org/cats: two black cats sleeping on www.dogs.example
email me at big.dogs@example.com, the dogs are small
@user1 's photo: the ladies' hats hanging from hooks
it's 10am o'clock at the station; 5pm trains leave
It's rock 'n' roll: guys playin' guitars goin' wild
y'all aint gonna see wolves' dens, gotta love foxes
She'd've worn shoes; he'll've eaten the pies
Ain't nobody cannot see the geese flying over ponds
U.S. flags waving over U.K. buildings near St. Mary's church
a.m. light, p.m. shadows, e.g. trees, i.e. woods, etc.
Mr. and Mrs. Smith's wedding cake w/o candles
happy 🎉🎂 birthday cake🎂with🎉candles on it 😀😀
dog❤️cat :) :-( <3 sitting together ¯\_(ツ)_/¯
狗 dog 猫cat犬 under the 木tree
日本の dogs 赤い red flower の in a vase
Собака dog и кошка cats на столе tables
5 км road, 10м tall tree, ٥ كم roads
The cat(s) and dog[s] on {mats}, "mice" in 'houses'
“curly quotes” ‘single’ dogs’ tails and cat’s tail
red-haired, blue-eyed girls with long-haired cats
well-lit kitchen, state-of-the-art ovens, mother-in-law's sofa
dog--cat dog—cat dog–cat dog - cat dog…cat dog...cat
dog,cat;mouse:horse!cow?sheep on grass.Trees behind
dog.cat trees.Then houses stand.Red cars
3D printed toys, 4x4 trucks, 2nd floor windows, 1980s cars
4K TV, mp3 players, b2b offices, 7up bottles, g20 leaders
100% cotton shirts; $5 mugs; £10 hats; 20€ shoes; 5° angles
10x15cm frames, 8"x10" prints, 5'10" men wearing suits
1/2 cup of milk and 3/4 glasses of wine next to plates
50 m² flat, 3km² lakes, 2m³ boxes with µg pills, 5µm hairs
No.1 horses; #1 dad mugs; No dogs allowed on benches
iPhone 12 Pro Max cases - black leather - AT&T phones
LOT OF 5 VINTAGE BRASS CANDLE HOLDERS - RARE!!!
Vintage Old Brass Candlesticks | Antique Home Décor | eBay
stock photo: smiling, young, happy women eating salads
Stock Vector - seamless pattern with hand-drawn leaves, leafs
People walking/running along streets in New York, NY
Two men (left) and three women (right) are standing on stairs
The left shoe is to the left of the right shoe's box
A man on the left side of the knives next to wolves
In front of the shelves, on top of loaves: mice, lice, dice
The thieves' calves are lying; they lay on scarves
sheep, deer, fish, fishes, series, species and aircraft
oxen, children, feet, teeth, geese, men, women, people, persons
cacti, fungi, octopi, syllabi, radii, alumni on tables
criteria, phenomena, bacteria, data and media near indices
photos, potatoes, heroes, zeroes, pianos, zebras, buses, gases
selfies, emojis, hashtags, vlogs, memes, bloggers blogging
snazzier, comfier, cosier sofas; the snazziest, comfiest chairs
bigger dogs, biggest cats, better cars, the best bikes, worst roads
frolicking, picnicking, panicking, skiing, dyeing, tying, lying
photobombed, photoshopped, instagrammed, tweeted, retweeting
he's been sitting, she's sat, they were seated, I am seating
a woman who is wearing a dress that was worn by Anne's sisters
cars parked, parking lots, parked cars in car parks' corners
stopped, stopping stop signs; planned plans; travelled travelling
colours, colors, grey/gray greyer greyest walls, travelling mould
the building's windows are bigger than the house's doors
the dogs are sooo cuuute!!! omg lol the cats r 2 cute 4 u
id card, ill people, were wolves, wed couples, hell, shell, well
hes sitting, shes standing, whos there, thats dogs, lets go
theyre eating apples; youre holding bananas; weve got pears
im on a boat; ive seen boats; id love boats; ill sail boats
wont stop, dont go, cant see, shouldnt run: kids' toys
rock&roll bands, r&b singers, q&a sessions, h&m dresses
C++ books, C# code, .NET mugs, node.js stickers on laptops
dog_cat __dog__ *cat* ~mouse~ ^tree^ =house= +car+ |bus|
\"escaped\" quotes\n and \t tabs; dogs\cats C:\photos\dogs
&quot;dogs&quot; &amp; cats &#39;mice&#39; &lt;b&gt;bold&lt;/b&gt;
%20dogs%20and+cats+on%2Bmats
dog&nbsp;cat dog\u00a0cat dog\u200bcat dog\u00adcat soft\u00adhyphen
ﬁsh and ﬂowers with ligatures; Ｆｕｌｌｗｉｄｔｈ ｄｏｇｓ
ＤＯＧ under ① tree ② houses ½ apples ⅓ pies № 5
İstanbul'da KÖPEKLER ve IŞIK; STRASSE straße Straßen
ΣΊΣΥΦΟΣ dogs ΟΔΟΣ; naïveté, coöperate, façade's, jalapeños
𝐁𝐨𝐥𝐝 𝐝𝐨𝐠𝐬 and 𝓈𝒸𝓇𝒾𝓅𝓉 cats; zalgo d̴o̷g̸s̶
Kelvin K and Angstrom Å signs, Ⓐ circled, ª º ordinals, ²nd
dogdogdog catcatcat aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
1 2 3 4 5 6 7 8 9 10 11 dogs, 12 twelve cats, 1,000 mice, 3.14 pies
-5 degrees; +1 guest; 5-10 men; 1990-2000 cars; 24/7 shops
a a a the the dog dog dog's dogs' dogs's
one's, two's, 1's, 80's cars, '80s cars, ’90s cars, the '60s
O'Brien's pub, McDonald's signs, Levi's jeans, Macy's parades
ladies' night out, Women’s Day, Father‘s Day, kids`toys, dog´s
couldn't've, wouldn’t’ve, mustn't, needn't dogs, oughtn't cats
Y'ALL'D'VE, who'd, what're, how'd'y, 'tis, 'twas, 'em, ma'am
"""


def texts_of(*texts):
    return pa.array(texts, pa.large_string())


def found_keys(keys, *texts):
    rows, key_ids, tiers = CandidateIndex(keys).pairs(texts_of(*texts))
    return sorted(zip(rows.tolist(), key_ids.tolist(), tiers.tolist(), strict=True))


def naive_words(key):
    """Words of a key: sets of runs by role, None where any caption will do."""
    _, subject, relation, object_, attribute = key
    groups = [frozenset([word]) for word in (subject or attribute, object_) if word]
    groups += necessary_words(relation) if relation else ()
    return [runs for runs in map(find_runs, groups) if "" not in runs]


def naive_tier(key, runs_of_caption):
    kind, subject, relation, object_, attribute = key
    places, place = defaultdict(list), 0
    for run in runs_of_caption:
        place += run.isalnum()
        places[run].append(place if run.isalnum() else place + 0.5)

    def of(words):
        runs = find_runs(words)
        return [] if "" in runs else sorted({place for run in runs for place in places[run]})

    if kind == "attribute_object":
        gaps = [o - a for a in of(frozenset([attribute])) for o in of(frozenset([object_])) if o != a]
        return 1 if 1 in gaps else 2 if any(abs(gap) <= 4 for gap in gaps) else 3
    if kind == "object_relation_object":
        middle = [of(words) for words in necessary_words(relation)]
        spans = [
            o - s
            for s in of(frozenset([subject]))
            for o in of(frozenset([object_]))
            if s < o and all(any(s < m < o for m in places) for places in middle)
        ]
        return 1 if any(span <= 4 for span in spans) else 2 if any(span <= 10 for span in spans) else 3
    return 1


def naive_pairs(keys, texts):
    words_of_keys = list(map(naive_words, keys))
    for row, text in enumerate(texts):
        runs = split_runs(text)
        for key_id, (key, words) in enumerate(zip(keys, words_of_keys, strict=True)):
            if all(each & set(runs) for each in words):
                yield row, key_id, naive_tier(key, runs)


@pytest.mark.parametrize(
    ("text", "key_ids"),
    [
        ("a red dog under a tree", [0, 1, 2]),
        ("redder dogs, trees: under!", [0, 1, 2]),
        ("the tree's dog looks redly", [0]),
        ("reddish doge undertree", []),
        ("5red-dog", [0, 1]),
        ("", []),
        ("é dog漢字red", [0, 1]),
    ],
)
def test_keys_are_found_whose_words_a_caption_holds_in_any_inflection(text, key_ids):
    assert [key_id for _, key_id, _ in found_keys([DOG, RED_DOG, DOG_UNDER_TREE], text)] == key_ids


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("a red dog", 1),
        ("red, (dog)", 1),
        ("a red big old dog", 2),
        ("the dog is very red", 2),
        ("a red tree and a house with a dog", 3),
        ("red, dogless, some far away place here, dog red", 2),
        ("red " * 9 + "dog", 1),
    ],
)
def test_attributes_are_near_their_objects_in_tiers(text, tier):
    assert found_keys([RED_DOG], text) == [(0, 0, tier)]


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("a dog looks up at trees", 1),
        ("a dog looks up at the tall tree", 2),
        ("dog looks up at a big house on a hill, tree", 2),
        ("dog looks up at a big house on a hill, a tree", 3),
        ("a tree looks up at a dog", 3),
        ("look up at a dog by a tree", 3),
        ("a dog and a tree look up at a dog, look up at a tree", 2),
    ],
)
def test_relations_are_between_their_objects_in_tiers(text, tier):
    assert found_keys([DOG_LOOK_UP_AT_TREE], text) == [(0, 0, tier)]


def test_atoms_are_of_tier_1():
    assert found_keys([DOG, TREE, UNDER, RED], "under tree dog") == [(0, 0, 1), (0, 1, 1), (0, 2, 1)]


def test_an_object_related_to_its_like_needs_the_word_once():
    assert found_keys([("object_relation_object", "dog", "under", "dog", "")], "under dog") == [(0, 0, 3)]


def test_possessives_are_found_by_their_endings():
    texts = ["dogs' trees", "dogs’ trees", "the dog’s tree", "dog has tree", "dog tree", "dog – tree", "dogs'' trees"]
    found = found_keys([("object_relation_object", "dog", "have", "tree", "")], *texts)
    assert [row for row, _, _ in found] == [0, 1, 2, 3, 5, 6]  # dashes are taken for curly apostrophes


def test_dropped_keys_are_not_found():
    index, texts = CandidateIndex([DOG, RED_DOG, TREE]), texts_of("red dog", "tree", "red")
    assert index.matches(texts).tolist() == [True, True, False]
    index.drop([0, 2])
    index.drop([2])
    assert index.pairs(texts)[1].tolist() == [1]
    assert index.matches(texts).tolist() == [True, False, False]
    index.drop([1])
    assert not index.matches(texts).any()
    assert index.is_open.tolist() == [False] * 3


def test_words_without_ascii_letters_or_digits_may_stand_in_any_caption():
    keys = [
        atom_key("object", "漢字"),
        ("attribute_object", "", "", "漢字", "red"),
        ("attribute_object", "", "", "漢字", "字"),
    ]
    assert found_keys(keys, "dog", "red dog") == [(0, 0, 1), (0, 2, 3), (1, 0, 1), (1, 1, 3), (1, 2, 3)]
    index = CandidateIndex(keys)
    assert index.matches(texts_of("dog", "")).tolist() == [True, True]
    index.drop([0, 2])
    assert index.matches(texts_of("dog", "red")).tolist() == [False, True]


def test_no_key_and_no_caption_give_nothing():
    assert CandidateIndex([]).matches(texts_of("a dog")).tolist() == [False]
    assert found_keys([], "a dog") == found_keys([DOG]) == []
    assert CandidateIndex([DOG]).matches(texts_of()).tolist() == []
    assert CandidateIndex([DOG]).matches(texts_of("", "")).tolist() == [False, False]


def test_slices_of_an_array_are_read_where_they_lie():
    texts = texts_of("dog", "cat", "red dog", "bird", "dogs")
    index = CandidateIndex([DOG])
    assert index.matches(texts.slice(1, 3)).tolist() == [False, True, False]
    assert index.pairs(texts.slice(2))[0].tolist() == [0, 2]
    assert index.matches(texts.slice(5)).tolist() == []


@pytest.mark.parametrize("texts", [pa.array(["dog"]), pa.array(["dog", None], pa.large_string()), pa.array([1])])
def test_arrays_of_another_type_or_with_nulls_are_refused(texts):
    with pytest.raises(ValueError, match="large_string without nulls"):
        CandidateIndex([DOG]).matches(texts)
    with pytest.raises(ValueError, match="large_string without nulls"):
        CandidateIndex([DOG]).pairs(texts)


def test_long_captions_are_scanned_in_linear_time():
    long = "dog under " * 10_000 + "tree"
    assert found_keys([DOG_UNDER_TREE, RED_DOG], long, "a1" * 50_000) == [(0, 0, 1)]


def test_buffers_may_be_larger_than_two_gigabytes():
    start = 2**31 + 7
    data = np.zeros(start + 100, np.uint8)  # pages that are not written take no memory
    data[start : start + 12] = np.frombuffer(b"red dogtree ", np.uint8)
    offsets = pa.py_buffer(np.array([start, start + 7, start + 12]))
    texts = pa.Array.from_buffers(pa.large_string(), 2, [None, offsets, pa.py_buffer(data)])
    assert CandidateIndex([DOG, TREE]).pairs(texts)[1].tolist() == [0, 1]


def test_pairs_that_do_not_fit_at_once_are_all_found(monkeypatch):
    monkeypatch.setattr("crepebench.scan.PAIRS_AT_ONCE", 3)
    texts = ["red dog", "dog tree under", "", "dog", "tree"] * 20
    keys = [DOG, TREE, RED_DOG]
    assert found_keys(keys, *texts) == sorted(naive_pairs(keys, texts))


def test_equal_hashes_of_different_runs_only_add_candidates(monkeypatch):
    monkeypatch.setattr("crepebench.scan_kernels.hash_run", lambda run: 12345)
    index = CandidateIndex([DOG, RED_DOG])
    table, starts, ends, slots = index._forms
    at = np.flatnonzero(table)
    assert len(at) == 1 and set(slots[starts[at[0]] : ends[at[0]]]) == {0, 1}


@pytest.mark.parametrize("seed", range(4))
def test_scan_equals_a_search_in_dictionaries(seed):
    rng = random.Random(seed)
    nouns, adjectives = "dog tree leaf child glass café t-shirt 漢字".split(), "red good orange".split()
    relations = ["under", "'s", "@", "look up at", "to the left of", "have", "sit on", "in between", "w/"]
    words = "dogs tree's leaves leaf child children glasses caf café t-shirts red redder best good orange , .".split()
    words += (
        "under look looked up at left of to the have has sat on in between w/ a a and @ 5cm can't child’s dogs'".split()
    )
    keys = [atom_key("object", noun) for noun in nouns] + [atom_key("relation", relation) for relation in relations]
    keys += [("attribute_object", "", "", noun, adjective) for noun in nouns for adjective in adjectives]
    keys += [("object_relation_object", s, r, o, "") for s in nouns for r in relations for o in nouns]
    keys = rng.sample(keys, rng.randint(1, len(keys)))
    texts = [" ".join(rng.choices(words, k=rng.randrange(14))) for _ in range(400)]
    expected = sorted(naive_pairs(keys, texts))
    assert found_keys(keys, *texts) == expected
    held = {row for row, _, _ in expected}
    assert CandidateIndex(keys).matches(texts_of(*texts)).tolist() == [row in held for row in range(len(texts))]
    dropped = set(rng.sample(range(len(keys)), len(keys) // 2))
    index = CandidateIndex(keys)
    index.drop(dropped)
    rows, key_ids, _ = index.pairs(texts_of(*texts))
    assert sorted(zip(rows, key_ids, strict=True)) == [(row, k) for row, k, _ in expected if k not in dropped]


def missed(texts, parser):
    """Parses texts; returns the keys of their graphs that the scan does not find in them, and the number of keys."""
    keys_of_texts = [vocabulary_keys(graph) for graph in parse_texts(texts, parser, ALL)]
    keys = sorted(set().union(*keys_of_texts))
    ids = {key: key_id for key_id, key in enumerate(keys)}
    folded = texts_of(*(text.lower() for text in texts))
    rows, key_ids, _ = CandidateIndex(keys).pairs(folded)
    found = set(zip(rows.tolist(), key_ids.tolist(), strict=True))
    held = [(row, ids[key]) for row, keys_of_text in enumerate(keys_of_texts) for key in sorted(keys_of_text)]
    some = set(range(0, len(keys), 7))
    matches = CandidateIndex(keys[::7]).matches(folded)
    assert all(matches[row] for row, key_id in held if key_id in some)
    return [(texts[row], keys[key_id]) for row, key_id in held if (row, key_id) not in found], len(held)


def test_no_key_of_real_captions_is_missed(shared_data, parser):
    with open(shared_data / "factual_scene_graphs" / "factual_sg_half.csv", encoding="utf-8", newline="") as file:
        captions = sorted({row["caption"] for row in csv.DictReader(file)})[::8]
    not_found, n_held = missed(captions, parser)
    assert not_found == []
    assert n_held > 4 * len(captions) > 8000


def test_no_key_of_captions_from_the_web_is_missed(parser):
    captions = [re.sub(r"\\u(\w{4})", lambda code: chr(int(code[1], 16)), line) for line in WEB_CAPTIONS.split("\n")]
    not_found, n_held = missed(captions, parser)
    assert not_found == []
    assert n_held > 300


def test_no_key_of_captions_of_the_icons_world_is_missed(repository, parser):
    world, rng = read_world(str(repository / "resources" / "icons" / "world.yaml")), np.random.default_rng(1)
    rows = draw_corpus_rows(world, draw_corpus_scenes(world, NOTHING_HELD_OUT, "mini", 1200, 1), "mini", 1)
    captions = [phrases.cc12m_row(row.caption, rng) for row in rows[:600]]
    captions += [phrases.laion400m_row(row.caption, rng) for row in rows[600:]]
    captions += [unescape(unquote_plus(" ".join(phrases.yfcc15m_row(row.caption, rng)))) for row in rows[:300]]
    not_found, n_held = missed(captions, parser)
    assert not_found == []
    assert n_held > 4 * len(captions)
