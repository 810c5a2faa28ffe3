"""What holds against fabricated passages, collusion, hostile input and kill -9."""
