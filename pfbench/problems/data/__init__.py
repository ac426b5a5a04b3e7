"""Real data sets: records, files, downloads and arrays.

`catalogue` describes each set; `cache` locates its file and fetches it from its home; `loading`
turns the file into checked arrays; `management` implements ``pfbench data``. No data set
is part of pfbench: each is downloaded from its home to the user's machine.
"""
