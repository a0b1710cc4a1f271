"""The rule files of the user and of projects, and the decisions made from them."""
