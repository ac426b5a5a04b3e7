"""Real data sets: records, files, downloads and arrays.

`catalogue` describes each set; `cache` locates its file; `loading` turns the file into checked
arrays; `download` fetches it from its home; `management` implements ``pfbench data``. No data set
is part of pfbench: each is downloaded from its home to the user's machine.
"""
