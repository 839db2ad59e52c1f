import json
import random
import unittest

from holdfast._progress import step_line


class Tensor:
    """A metric as the frameworks have them: a number inside, or an error if there are many."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        if self.value is None:
            raise RuntimeError("only one element can be converted")
        return float(self.value)

    def __int__(self):
        return int(self.value)


class StepLine(unittest.TestCase):
    def read(self, step, metrics):
        line = step_line(step, metrics)
        self.assertEqual(line.count(b"\n"), 1)
        self.assertTrue(line.endswith(b"\n"))
        return json.loads(line)

    def test_the_line_is_json_for_any_numbers(self):
        chance = random.Random(1)
        for _ in range(500):
            metrics = {f"m{i}": chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 300) for i in range(chance.randint(0, 4))}
            step = chance.randint(0, 10**15)
            self.assertEqual(self.read(step, metrics), {"type": "step", "step": step, "metrics": metrics})

    def test_the_line_keeps_any_metric_name(self):
        metrics = {'a"b\\c\nd': 1.0, "Verlust ä": 2.0, "\ud800": 3.0, "": 4.0}
        self.assertEqual(self.read(0, metrics)["metrics"], metrics)

    def test_the_line_has_numbers_of_any_kind_and_nothing_else(self):
        metrics = {"tensor": Tensor(1.5), "true": True, "text": "1e3", "many": Tensor(None), "none": None, "nan": float("nan"), "inf": float("-inf")}
        self.assertEqual(self.read(Tensor(7), metrics), {"type": "step", "step": 7, "metrics": {"tensor": 1.5, "true": 1.0, "text": 1000.0}})


if __name__ == "__main__":
    unittest.main()
