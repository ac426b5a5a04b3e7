"""The data room: which real data sets there are, where they come from, and their arrays.

`catalogue` says what each set is; `cache` where its file lies; `loading` turns the file into
checked arrays; `download` brings it from its home; `management` has what stands behind
``pfbench data``. No data set is part of pfbench: each comes from its home, on the user's machine.
"""
