"""Operator cases as data: declared once, run in MXNet 1.9.1 to record goldens and here to be judged against them.

A family is a module in `tests/opdb/cases/` with a list `CASES` and, where something is known not to agree, a list `LIMITATIONS`.
Write the cases, then record: `python -m tests.opdb.make_goldens --family NAME`. Judge: `pytest tests/test_opdb.py -k NAME`.
"""
