"""Small encoders at work: our own reader and a judge of entailment, in numpy and OpenVINO alone."""
