"""Run with `python3 -m unittest`."""

import unittest

from logic import greet


class Greeting(unittest.TestCase):
    def test_greets_by_name(self):
        self.assertEqual(greet("Hello", "Ada"), "Hello, Ada!")
