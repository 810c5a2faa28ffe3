"""Language models: an endpoint, the embedded engine, a journal before either, a scripted model."""
