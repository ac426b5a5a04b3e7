"""How deep JSON may be nested: counted outside of its texts, before anything is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import decode_json

MOST = 32
VALUES = st.recursive(
    st.text(alphabet='[]{}"\\ab\n', max_size=40) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@given(VALUES, st.integers(0, 40))
def test_brackets_in_texts_do_not_count(value, more):
    def depth(one):
        if isinstance(one, dict):
            return 1 + max(map(depth, one.values()), default=0)
        return 1 + max(map(depth, one), default=0) if isinstance(one, list) else 0

    for _ in range(more):
        value = [value, "[" * 50]
    text = json.dumps(value).encode()
    if depth(value) <= MOST:
        assert decode_json(text) == value
    else:
        with pytest.raises(DamagedFileError, match="nested more than 32 deep"):
            decode_json(text)


@pytest.mark.parametrize("before", [b'"\\\\",', b'"a\\"",', b'"\\u005b",', b'"]]]]",'])
def test_what_ends_like_a_text_hides_no_depth(before):
    with pytest.raises(DamagedFileError, match="nested more than"):
        decode_json(b"[" + before + b"[" * 100_000)
