"""How `disputation` rules: corpora that disagree in different ways, weights fitted on some and tried on the others."""
