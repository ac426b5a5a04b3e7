"""Where runs are made: this process, processes that can be killed, a cluster."""
