"""The plainest hook one would write in Python: read the event, append it to a file, answer nothing."""

import json
import os
import sys

event = json.load(sys.stdin)
with open(os.environ["RIVAL_LOG"], "a") as log:
    log.write(json.dumps(event) + "\n")
