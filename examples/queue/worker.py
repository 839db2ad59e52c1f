"""A worker: leases items, works on each for a moment, and hands in the result. Kill it as often as you like."""

import time

import holdfast

for item in holdfast.work("squares"):
    time.sleep(0.4)  # your model
    item.done(item.value["n"] ** 2)
