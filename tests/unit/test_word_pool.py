import pytest

from crepebench.word_pool import build_pool

from .foil_rows import atom


def test_pool_holds_what_occurs_often_enough():
    graphs = [[atom("object", "jar"), atom("attribute", "red")], [atom("object", "jar")], [atom("object", "box")]]
    pool = build_pool(graphs, 2)
    assert pool.words == {"object": {"jar"}, "attribute": set(), "relation": set()}


@pytest.mark.parametrize(
    ("relation", "surfaces", "form"),
    [
        ("hang from", ["hanging from", "hangs from", "hangs from"], "hanging from"),
        ("hang from", ["hangs from"], "hanging from"),
        ("have", ["'s", "has", "'s"], "having"),
        ("have", ["'"], "having"),
        ("tie to", ["tied to", "tied to", "ties to"], "tied to"),
        ("above", ["above"], "above"),
        ("close to", ["close to"], "close to"),
        ("sit on", ["sitting on a couch on", "sits on"], "sitting on"),
    ],
)
def test_pool_has_the_form_of_a_relation_after_a_noun(relation, surfaces, form):
    pool = build_pool([[atom("relation", relation, surface)] for surface in surfaces], 1)
    assert pool.relation_forms[relation] == form
