"""What several measurements share; nothing here measures anything."""
