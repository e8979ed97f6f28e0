from crepebench.word_tables import WordTables, read_word_tables


def test_words_that_say_the_same_are_marked_from_every_side(tables):
    assert set(tables.same) == set(tables.relations)
    for relation, others in tables.same.items():
        assert relation in others
        assert all(tables.same[other] == others for other in others), relation


def test_words_that_say_the_same_have_the_same_inverses(tables):
    for others in tables.same.values():
        inverses = {tables.inverses.get(other, frozenset()) for other in others}
        assert len(inverses) == 1, others
        for inverse in inverses.pop():
            assert tables.same[inverse] <= tables.inverses[min(others)], (others, inverse)


def test_relation_is_never_contrasted_with_its_own_meaning(tables):
    for relation, contrasts in tables.relations.items():
        assert not tables.same[relation] & set(contrasts), relation


def test_tables_hold_no_word_as_its_own_contrast(tables):
    assert all(word not in others for word, (_, others) in tables.attributes.items())
    assert all(relation not in others for relation, others in tables.relations.items())
    assert len(tables.attributes) > 20
    assert len(tables.relations) > 15


def test_inverses_are_marked_from_both_sides(tables):
    pairs = {(a, b) for a, others in tables.inverses.items() for b in others}
    assert {
        ("above", "below"),
        ("over", "under"),
        ("over", "beneath"),
        ("near", "near"),
        ("behind", "in front of"),
    } <= pairs
    assert [pair for pair in sorted(pairs) if pair[::-1] not in pairs] == []


def test_what_may_both_be_true_is_no_contrast(tables):
    contrasts = {(a, b) for a, (_, others) in tables.attributes.items() for b in others}
    assert tables.compatible
    assert all((a, b) not in contrasts for pair in tables.compatible for a in pair for b in pair)


def test_words_that_may_both_be_true_are_marked_from_both_sides(tables):
    pairs = {(a, b) for a, (_, others) in tables.attributes.items() for b in others}
    assert [pair for pair in sorted(pairs) if pair[::-1] not in pairs] == []


def test_tables_read_from_literal_rows(tmp_path):
    (tmp_path / "attributes.csv").write_text(
        "group,attribute,never_for\ncolour,red,pink\ncolour,pink,red\ncolour,blue,\nsize,small,tiny\n"
    )
    (tmp_path / "relations.csv").write_text(
        "relation,same_as,inverses,foils\nabove,over,below,below;hang from\nover,above,,below\n"
        "under,,above,above\non,,,under\n"
    )
    (tmp_path / "mass_nouns.csv").write_text("noun\ngrass\n")
    (tmp_path / "blocked.csv").write_text("word,reason\nhag,insult\nfellow,role\n")
    tables = read_word_tables(sorted(map(str, tmp_path.glob("*.csv"))))
    assert tables == WordTables(
        {
            "red": ("colour", ("blue",)),
            "pink": ("colour", ("blue",)),
            "blue": ("colour", ("red", "pink")),
            "small": ("size", ()),
        },
        {"above": ("below", "hang from"), "over": ("below",), "under": ("above",), "on": ("under",)},
        {
            "above": frozenset({"above", "over"}),
            "over": frozenset({"above", "over"}),
            "under": frozenset({"under"}),
            "on": frozenset({"on"}),
        },
        {
            "above": frozenset({"below", "under"}),
            "below": frozenset({"above", "over"}),
            "under": frozenset({"above", "over"}),
        },
        frozenset({frozenset({"red", "pink"}), frozenset({"small", "tiny"})}),
        frozenset({"grass"}),
        frozenset({"hag", "fellow"}),
    )
