"""Running an evaluation: who takes part, the journal, budgets, resuming."""
