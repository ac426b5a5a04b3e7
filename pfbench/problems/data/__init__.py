"""Real data sets: records, files, downloads and arrays.

`catalogue` describes each data set. `cache` locates its file, and downloads the file from the
publisher's address. `loading` turns the file into validated arrays, and `management` implements
``pfbench data``. pfbench contains no data set itself: each is downloaded to the user's machine.
"""
