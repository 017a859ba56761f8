"""The other readers of a constant: a sequence like a tuple, that many nodes share."""

import pickle

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.origins.classify import Others
from resizefix.reports.json import MOST_READERS, site_json


def test_the_node_itself_is_left_out_wherever_it_stands():
    found = Others(("a", "b", "a", "c"), (0, 2))
    assert (len(found), list(found)) == (2, ["b", "c"])
    assert (found[0], found[-1], found[:1], found[1:]) == ("b", "c", ("b",), ("c",))
    assert found == ("b", "c")
    assert found != ("b",)
    assert pickle.loads(pickle.dumps(found)) == found
    assert not Others()


def test_the_json_of_many_readers_grows_with_their_number():
    lengths = {}
    for count in (200, 400):
        found = [site_json(site)["origin"] for site in resizefix.inspect(independent_resizes(count))]
        assert {origin["shared_by_count"] for origin in found} == {count - 1}
        lengths[count] = sum(len(origin["shared_by"]) for origin in found)
    assert lengths == {200: 200 * MOST_READERS, 400: 400 * MOST_READERS}


def test_a_usual_number_of_readers_is_listed_whole():
    origin = site_json(resizefix.inspect(independent_resizes(3))[0])["origin"]
    assert origin["shared_by"] == ["R", "R"]
    assert origin["shared_by_count"] == 2
