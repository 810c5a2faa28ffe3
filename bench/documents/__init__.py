"""A folder of office papers that contradict each other, questions about it, and how well they are answered."""
