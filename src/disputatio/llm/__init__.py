"""Who generates: an endpoint, a local engine, the journal before either, a scripted model."""
